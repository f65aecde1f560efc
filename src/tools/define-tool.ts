import type { StandardSchemaV1 } from '@standard-schema/spec';
import { type JsonSchema, jsonSchemaOf } from '../core/ports/json-schema.ts';
import type { ApprovalRule, Effects, LedgerDraft, Reconciled, Tool, ToolContext } from '../core/ports/tool.ts';
import { PerdureError } from '../schema/error.ts';
import { fieldProblem } from '../schema/field-problem.ts';
import type { Json } from '../schema/json.ts';
import type { State } from '../schema/state.ts';
import { isRule, toolProblem } from './tool-problem.ts';

type FileChange = State['filesModified'][string]['change'];
type Approval<Input> =
  | boolean
  | ApprovalRule
  | ((input: Input, context: { readonly state: State }) => boolean | ApprovalRule | Promise<boolean | ApprovalRule>);

interface ContextWith<SecretName extends string> extends ToolContext {
  readonly secrets: Readonly<Record<SecretName, string>>;
}

export interface ToolDefinition<Schema extends StandardSchemaV1, Output, SecretName extends string = never> {
  readonly name: string;
  readonly description?: string;
  /** Any synchronous Standard Schema that can be put as JSON Schema, such as Zod 4. */
  readonly input: Schema;
  /** What running a call twice would do; `once` by default, the careful answer. */
  readonly effects?: Effects;
  /** Names of secrets of the vault: `context.secrets` has their values. The model sees neither. */
  readonly secrets?: readonly SecretName[];
  /** Whether it works in the session's folder; true by default. Without, its calls are not followed by a look at the files. */
  readonly usesFiles?: boolean;
  /** Whether a person is asked before it runs. */
  readonly approval?: Approval<StandardSchemaV1.InferOutput<Schema>>;
  /** 2 minutes by default. */
  readonly timeoutMs?: number;
  /** Further attempts after a failure, where the effects allow it; none by default. */
  readonly retry?: { readonly times: number; readonly backoffMs?: number };
  /** What it says counts as verified. */
  readonly trusted?: boolean;
  execute(
    input: StandardSchemaV1.InferOutput<Schema>,
    context: ContextWith<SecretName>,
  ): Output | Promise<Output> | AsyncIterable<Output>;
  /** For `once`: finds out what became of a call whose process died. */
  reconcile?(
    input: StandardSchemaV1.InferOutput<Schema>,
    context: ContextWith<SecretName>,
  ): Promise<Reconciled> | Reconciled;
  /** A line for people. */
  summarize?(output: Output, input: StandardSchemaV1.InferOutput<Schema>): string;
  files?(input: StandardSchemaV1.InferOutput<Schema>, output: Output): Readonly<Record<string, FileChange>>;
  decisions?(
    input: StandardSchemaV1.InferOutput<Schema>,
    output: Output,
  ): Readonly<Record<string, State['decisions'][string]>>;
  change?(draft: LedgerDraft, input: StandardSchemaV1.InferOutput<Schema>, output: Output): void;
  question?(input: StandardSchemaV1.InferOutput<Schema>): {
    readonly text: string;
    readonly options?: readonly string[];
  };
}

const fields: Record<keyof ToolDefinition<StandardSchemaV1, unknown>, true> = {
  name: true,
  description: true,
  input: true,
  effects: true,
  secrets: true,
  usesFiles: true,
  approval: true,
  timeoutMs: true,
  retry: true,
  trusted: true,
  execute: true,
  reconcile: true,
  summarize: true,
  files: true,
  decisions: true,
  change: true,
  question: true,
};
const namePattern = /^[a-zA-Z][a-zA-Z0-9_-]{0,63}$/;

const invalid = (name: unknown, why: string): PerdureError => {
  const tool = name === undefined ? 'a tool without a name' : `the tool ${String(name)}`;
  return new PerdureError('TOOL_INVALID', `${tool} cannot be used: ${why}`, { details: { tool: name } });
};

const inputSchemaOf = (name: string, schema: StandardSchemaV1): JsonSchema => {
  const json = jsonSchemaOf(schema);
  if (json) return json;
  throw invalid(name, 'its input schema cannot be put as JSON Schema: use one that can, such as Zod 4');
};

const parseWith = (name: string, schema: StandardSchemaV1, input: Json) => {
  const result = schema['~standard'].validate(input);
  if (result instanceof Promise) throw invalid(name, 'its input schema validates asynchronously');
  if (!result.issues) return { value: result.value };
  const lines = result.issues.slice(0, 5).map(({ path = [], message }) => {
    const at = path.map((part) => String(typeof part === 'object' ? part.key : part)).join('.');
    return at ? `${at}: ${message}` : message;
  });
  return { problem: lines.join('; ') };
};

/** What is no rule is no leave to run the call. */
const ruleOf = (name: string, approval: unknown): ApprovalRule | undefined => {
  if (!isRule(approval)) throw invalid(name, 'its approval is neither yes, no nor a rule');
  if (approval === false) return undefined;
  return approval === true ? {} : approval;
};

/** A tool that an agent can be given. */
export const defineTool = <Schema extends StandardSchemaV1, Output = unknown, const SecretName extends string = never>(
  definition: ToolDefinition<Schema, Output, SecretName>,
): Tool => {
  const unknown = fieldProblem(definition, fields);
  if (unknown) throw invalid(definition?.name, unknown);
  const { name, input } = definition;
  if (!namePattern.test(name)) throw invalid(name, 'its name takes letters, digits, - and _, 64 at most');
  const problem = toolProblem(definition);
  if (problem) throw invalid(name, problem);
  const {
    effects = 'once',
    secrets = [],
    usesFiles = true,
    timeoutMs = 120_000,
    retry,
    trusted = false,
    approval = false,
  } = definition;
  if (retry && effects === 'once')
    throw invalid(name, 'what may run once only cannot be tried again: say which effects it has');
  const parse = (value: Json) => parseWith(name, input, value);
  return {
    ...(definition as unknown as Pick<
      Tool,
      'execute' | 'reconcile' | 'summarize' | 'files' | 'decisions' | 'change' | 'question'
    >),
    name,
    description: definition.description ?? '',
    inputSchema: inputSchemaOf(name, input),
    effects,
    secrets: [...secrets],
    usesFiles,
    timeoutMs,
    retry: { times: retry?.times ?? 0, backoffMs: retry?.backoffMs ?? 500 },
    trusted,
    parse,
    approvalFor: async (value, context) => {
      if (typeof approval !== 'function') return ruleOf(name, approval);
      const parsed = parse(value);
      return 'value' in parsed ? ruleOf(name, await approval(parsed.value as never, context as never)) : undefined;
    },
  };
};
