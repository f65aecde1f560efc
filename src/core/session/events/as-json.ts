import { Json } from '../../../schema/json.ts';
import { nothingSecret, type Redactor } from '../redaction/redact.ts';

const maxChars = 4 * 1024 * 1024;

/** Replaces U+0000 and lone surrogates, which cannot be stored, by the replacement character U+FFFD. */
export const storable = (text: string): string => text.toWellFormed().replaceAll('\u0000', '\ufffd');

const clean = (_key: string, value: unknown): unknown => {
  if (typeof value === 'string') return storable(value);
  if (typeof value === 'bigint') return value.toString();
  return value;
};

/**
 * Converts a tool's input or output for the log: JSON without secrets. A value that is too large or not JSON becomes a
 * short description.
 */
export const asJson = (value: unknown, redactor: Redactor = nothingSecret): Json => {
  try {
    const text = JSON.stringify(value ?? null, clean) ?? 'null';
    // Redacts before truncating, because the cut could leave a part of a secret that is not recognized.
    if (text.length > maxChars) {
      return { truncated: true, chars: text.length, head: storable(redactor.text(text).slice(0, 20_000)) };
    }
    const parsed = Json.safeParse(JSON.parse(text));
    if (parsed.success) return redactor.json(parsed.data);
  } catch {
    // The value is circular, or its toJSON throws.
  }
  return { unserializable: storable(String(Object.prototype.toString.call(value))) };
};
