import type { z } from 'zod';
import { type EventDraft, eventDefinitions } from '../../../schema/event.ts';
import type { Json } from '../../../schema/json.ts';
import type { Redactor } from './redact.ts';

type Schema = z.core.$ZodType & z.ZodType;
type Values = Readonly<Record<string, unknown>>;

const isBase64 = ({ _zod: { def } }: Schema): boolean => 'format' in def && def.format === 'base64';
/** Whether a pattern validates the text, as for ids and hashes. Such a text cannot hold a secret. */
const hasPattern = ({ _zod: { def } }: Schema): boolean =>
  (def.checks ?? []).some((check) => check._zod.def.check === 'string_format');

const redactText = (schema: Schema, text: string, redactor: Redactor): string => {
  if (isBase64(schema)) {
    const bytes = Buffer.from(text, 'base64');
    const clean = redactor.bytes(bytes);
    return clean === bytes ? text : Buffer.from(clean).toString('base64');
  }
  return hasPattern(schema) ? text : redactor.text(text);
};

/** Redacts the free texts of a value. Field names and enum values stay, even if they equal a secret. */
const redactBy = (schema: Schema, value: unknown, redactor: Redactor): unknown => {
  if (value === undefined || value === null) return value;
  const { def } = schema._zod as unknown as { def: z.core.$ZodTypes['_zod']['def'] };
  switch (def.type) {
    case 'string':
      return redactText(schema, value as string, redactor);
    case 'optional':
    case 'nullable':
      return redactBy(def.innerType as Schema, value, redactor);
    case 'array':
      return (value as readonly unknown[]).map((each) => redactBy(def.element as Schema, each, redactor));
    case 'object':
      return Object.fromEntries(
        Object.entries(value as Values).map(([key, each]) => [key, redactBy(def.shape[key] as Schema, each, redactor)]),
      );
    case 'record':
      return Object.fromEntries(
        Object.entries(value as Values).map(([key, each]) => [
          redactBy(def.keyType as Schema, key, redactor),
          redactBy(def.valueType as Schema, each, redactor),
        ]),
      );
    case 'union': {
      const option = (def.options as readonly Schema[]).find((each) => each.safeParse(value).success);
      return option ? redactBy(option, value, redactor) : value;
    }
    case 'pipe': {
      const looksAhead = def.in._zod.def.type === 'transform';
      return looksAhead ? redactBy(def.out as Schema, value, redactor) : redactor.json(value as Json);
    }
    case 'unknown':
      return redactor.json(value as Json);
    default:
      return value;
  }
};

/** Redacts a value so that it still fits its schema. Returns the same value if it holds no secret. */
export const redactAs = <T>(schema: z.ZodType<T>, value: T, redactor: Redactor): T =>
  redactor.json(value as Json) === value ? value : (redactBy(schema as unknown as Schema, value, redactor) as T);

/**
 * Returns the fields of a commit that must not be redacted again. `changeState` already redacted its new values, and
 * its tests and inverse must match the existing state.
 */
const changeOf = (draft: EventDraft): object => {
  if (draft.type !== 'state.committed') return {};
  const { delta, inverse } = draft.payload;
  return { delta, inverse };
};

/** Redacts a draft for the log. Returns the same draft if it holds no secret. */
export const redactDraft = (draft: EventDraft, redactor: Redactor): EventDraft => {
  const { payload: schema } = eventDefinitions[draft.type] as { payload: z.ZodType<EventDraft['payload']> };
  const payload = redactAs(schema, draft.payload, redactor);
  if (payload === draft.payload) return draft;
  return { ...draft, payload: { ...payload, ...changeOf(draft) }, encoded: undefined } as EventDraft;
};
