import { Json } from '../../../schema/json.ts';
import { nothingSecret, type Redactor } from '../redaction/redact.ts';

const maxChars = 4 * 1024 * 1024;

/** U+0000 and half pairs cannot be stored; what stands for them is the sign for a character that could not be kept. */
export const storable = (text: string): string => text.toWellFormed().replaceAll('\u0000', '\ufffd');

const clean = (_key: string, value: unknown): unknown => {
  if (typeof value === 'string') return storable(value);
  if (typeof value === 'bigint') return value.toString();
  return value;
};

/** Whatever a tool was given or gave back, as the journal keeps it: JSON without secrets, and where it is none or too large, as much as can be said of it. */
export const asJson = (value: unknown, redactor: Redactor = nothingSecret): Json => {
  try {
    const text = JSON.stringify(value ?? null, clean) ?? 'null';
    // Before it is cut, which could leave a part of one.
    if (text.length > maxChars) {
      return { truncated: true, chars: text.length, head: storable(redactor.text(text).slice(0, 20_000)) };
    }
    const parsed = Json.safeParse(JSON.parse(text));
    if (parsed.success) return redactor.json(parsed.data);
  } catch {
    // Circular, or a toJSON that throws: said below.
  }
  return { unserializable: storable(String(Object.prototype.toString.call(value))) };
};
