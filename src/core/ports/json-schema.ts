import type { StandardSchemaV1 } from '@standard-schema/spec';
import type { Json } from '../../schema/json.ts';

export type JsonSchema = { readonly [key: string]: Json };

interface DescribesItself {
  readonly '~standard': { readonly jsonSchema?: { input(options: { target: string }): unknown } };
}

/** Converts a schema to JSON Schema. Returns undefined if the schema does not support it. */
export const jsonSchemaOf = (schema: StandardSchemaV1): JsonSchema | undefined => {
  try {
    const json = (schema as unknown as DescribesItself)['~standard'].jsonSchema?.input({ target: 'draft-2020-12' });
    return json as JsonSchema | undefined;
  } catch {
    return undefined;
  }
};
