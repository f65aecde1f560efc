import type { JsonSchema } from '../../ports/json-schema.ts';
import type { ToolOffer } from '../../ports/model.ts';
import { textTokens } from './context-units.ts';

/** The estimated tokens of what a request contains beside its context: the tools on offer and the output schema. */
export const schemaTokens = (tools: readonly ToolOffer[], output: JsonSchema | undefined): number =>
  tools.reduce((sum, offer) => sum + textTokens(JSON.stringify(offer)), 0) +
  (output ? textTokens(JSON.stringify(output)) : 0);
