import type { StandardSchemaV1 } from '@standard-schema/spec';
import { type JsonSchema, jsonSchemaOf } from '../core/ports/json-schema.ts';
import type {
  ApprovalRule,
  Effects,
  LedgerDraft,
  Reconciled,
  RepeatPolicy,
  Tool,
  ToolContext,
  ToolHandoff,
} from '../core/ports/tool.ts';
import { PerdureError } from '../schema/error.ts';
import { fieldProblem } from '../schema/field-problem.ts';
import type { Json } from '../schema/json.ts';
import type { State } from '../schema/state.ts';
import { isUntrustedBy } from '../schema/taint-kinds.ts';
import { isRule, toolProblem } from './tool-problem.ts';

type FileChange = State['filesModified'][string]['change'];
type Approval<Input> =
  | boolean
  | ApprovalRule
  | ((input: Input, context: { readonly state: State }) => boolean | ApprovalRule | Promise<boolean | ApprovalRule>);

interface ContextWith<SecretName extends string> extends ToolContext {
  readonly secrets: Readonly<Record<SecretName, string>>;
}

export interface ToolRetry {
  /** How many more attempts a call gets after its first one failed or timed out. */
  readonly times: number;
  /** How long to wait before the second attempt. The wait doubles with every further attempt. */
  readonly backoffMs?: number;
}

export interface ToolDefinition<Schema extends StandardSchemaV1, Output, SecretName extends string = never> {
  /**
   * The name by which the model calls the tool: a letter, then letters, digits, `-` or `_`, 64 characters at most.
   */
  readonly name: string;
  /** Tells the model what the tool does and when to use it. */
  readonly description?: string;
  /**
   * The schema of a call's input. Any synchronous Standard Schema that can be converted to JSON Schema, such as Zod 4.
   * An input that does not fit never reaches `execute`. The model gets an error message instead.
   */
  readonly input: Schema;
  /**
   * What running a call twice does: nothing (`none`), nothing more under the same `idempotencyKey` (`idempotent`), or
   * harm (`once`). After a crash, interrupted calls with the first two run again. A `once` call does not, unless
   * `reconcile` returns `not-run`.
   */
  readonly effects?: Effects;
  /**
   * For the effects `once`: what happens to a call with the tool and input of an earlier call that a rewind, a retry or
   * another branch left behind, if the earlier one took effect or may have. A person is asked (`ask`), the call is
   * refused (`deny`), or it runs (`allow`).
   */
  readonly repeat?: RepeatPolicy;
  /**
   * Whether all effects of a call are in the session's folder and state, so that a rewind undoes them and no other
   * branch shares them. Such a call is no repeat.
   */
  readonly confined?: boolean;
  /** Names of secrets in the vault. `context.secrets` has their values. The model never sees them. */
  readonly secrets?: readonly SecretName[];
  /**
   * Whether the tool works in the session's folder. With `false`, the runtime does not scan for changed files after a
   * call, which is faster.
   */
  readonly usesFiles?: boolean;
  /**
   * Whether a person must approve a call before it runs: `true`, a rule, or a function of the input that returns one of
   * these.
   */
  readonly approval?: Approval<StandardSchemaV1.InferOutput<Schema>>;
  /**
   * How long one attempt may take. After that, its abort signal fires, and the call ends with the outcome
   * `timeout`.
   */
  readonly timeoutMs?: number;
  /** Further attempts when a call throws or times out. Not allowed with the effects `once`. */
  readonly retry?: ToolRetry;
  /**
   * Whether the tool's output is treated as `verified`. Otherwise it is `unverified`, and so is everything that a
   * model commits from it.
   */
  readonly trusted?: boolean;
  /**
   * Whether the tool reads the outside world: a web page, a mail, a ticket that a customer wrote. Its results are marked
   * as data, and from then on `once` calls need an approval. By default this is so if the name says it, such as `fetch`
   * or `web_search`.
   */
  readonly untrusted?: boolean;
  /**
   * For the effects `once`: whether a call may run without an approval although data from outside is in the context.
   * Set it only if no input that an attacker chooses can do harm.
   */
  readonly safeWhenTainted?: boolean;
  /**
   * The paths of the session's folder that a call reads; a folder stands for everything in it. A call that reads a file
   * which was written in a tainted context taints. Without this, every call may read all files.
   */
  reads?(input: StandardSchemaV1.InferOutput<Schema>): readonly string[];
  /**
   * Does the work. The model reads the returned value. If it is an async iterable, its last value is the output. Throw
   * a `ToolFailure` to tell the model what went wrong.
   */
  execute(
    input: StandardSchemaV1.InferOutput<Schema>,
    context: ContextWith<SecretName>,
  ): Output | Promise<Output> | AsyncIterable<Output>;
  /**
   * For the effects `once`: finds out after a crash what became of a call. Return `{ outcome: 'ok', output }` if the
   * call took effect, `{ outcome: 'not-run' }` to run it now, or `{ outcome: 'unknown', message? }`, which is reported
   * to the model.
   */
  reconcile?(
    input: StandardSchemaV1.InferOutput<Schema>,
    context: ContextWith<SecretName>,
  ): Promise<Reconciled> | Reconciled;
  /**
   * Describes a successful call in one line for people, in the log and in listings. The model still reads the output.
   */
  summarize?(output: Output, input: StandardSchemaV1.InferOutput<Schema>): string;
  /**
   * The files that a call changed, by path, for tools that work outside the session's folder. Changes inside are found
   * automatically.
   */
  files?(input: StandardSchemaV1.InferOutput<Schema>, output: Output): Readonly<Record<string, FileChange>>;
  /** The decisions that a call made, by id. They are committed to the state with the call. */
  decisions?(
    input: StandardSchemaV1.InferOutput<Schema>,
    output: Output,
  ): Readonly<Record<string, State['decisions'][string]>>;
  /** Changes anything else in the state, in the same commit. */
  change?(draft: LedgerDraft, input: StandardSchemaV1.InferOutput<Schema>, output: Output): void;
  /** Makes the call a question to a person: the run waits, `execute` never runs, and the answer is the output. */
  question?(input: StandardSchemaV1.InferOutput<Schema>): {
    readonly text: string;
    readonly options?: readonly string[];
  };
  /**
   * Makes the call a handoff to a person: the run waits until the session is handed back, `execute` never runs, and the
   * output is a report of what people did meanwhile.
   */
  handoff?(input: StandardSchemaV1.InferOutput<Schema>): ToolHandoff;
}

const fields: Record<keyof ToolDefinition<StandardSchemaV1, unknown>, true> = {
  name: true,
  description: true,
  input: true,
  effects: true,
  repeat: true,
  confined: true,
  secrets: true,
  usesFiles: true,
  approval: true,
  timeoutMs: true,
  retry: true,
  trusted: true,
  untrusted: true,
  safeWhenTainted: true,
  reads: true,
  execute: true,
  reconcile: true,
  summarize: true,
  files: true,
  decisions: true,
  change: true,
  question: true,
  handoff: true,
};

/** The defaults of a tool definition. */
export const toolDefaults = {
  effects: 'once',
  repeat: 'ask',
  confined: false,
  secrets: [],
  usesFiles: true,
  approval: false,
  timeoutMs: 120_000,
  retry: { times: 0, backoffMs: 500 },
  trusted: false,
  safeWhenTainted: false,
} as const;

const namePattern = /^[a-zA-Z][a-zA-Z0-9_-]{0,63}$/;

const invalid = (name: unknown, why: string): PerdureError => {
  const tool = name === undefined ? 'a tool without a name' : `the tool ${String(name)}`;
  return new PerdureError('TOOL_INVALID', `${tool} cannot be used: ${why}`, { details: { tool: name } });
};

const inputSchemaOf = (name: string, schema: StandardSchemaV1): JsonSchema => {
  const json = jsonSchemaOf(schema);
  if (json) return json;
  throw invalid(name, 'its input schema cannot be converted to JSON Schema: use one that can, such as a Zod 4 schema');
};

const parseWith = (name: string, schema: StandardSchemaV1, input: Json) => {
  const result = schema['~standard'].validate(input);
  if (result instanceof Promise)
    throw invalid(name, 'its input schema validates asynchronously: use a schema without asynchronous checks');
  if (!result.issues) return { value: result.value };
  const lines = result.issues.slice(0, 5).map(({ path = [], message }) => {
    const at = path.map((part) => String(typeof part === 'object' ? part.key : part)).join('.');
    return at ? `${at}: ${message}` : message;
  });
  return { problem: lines.join('; ') };
};

/**
 * The approval rule; undefined if no approval is needed. Throws on an invalid rule, because it must never be treated
 * as an approval.
 */
const ruleOf = (name: string, approval: unknown): ApprovalRule | undefined => {
  if (!isRule(approval)) throw invalid(name, 'its approval is not valid: expected true, false or a rule');
  if (approval === false) return undefined;
  return approval === true ? {} : approval;
};

/** Defines a tool for an agent. */
export const defineTool = <Schema extends StandardSchemaV1, Output = unknown, const SecretName extends string = never>(
  definition: ToolDefinition<Schema, Output, SecretName>,
): Tool => {
  const unknown = fieldProblem(definition, fields);
  if (unknown) throw invalid(definition?.name, unknown);
  const { name, input } = definition;
  if (!namePattern.test(name))
    throw invalid(name, 'its name must be a letter, then letters, digits, - or _, 64 characters at most');
  const problem = toolProblem(definition);
  if (problem) throw invalid(name, problem);
  const {
    effects = toolDefaults.effects,
    repeat = toolDefaults.repeat,
    confined = toolDefaults.confined,
    secrets = toolDefaults.secrets,
    usesFiles = toolDefaults.usesFiles,
    timeoutMs = toolDefaults.timeoutMs,
    retry,
    trusted = toolDefaults.trusted,
    safeWhenTainted = toolDefaults.safeWhenTainted,
    approval = toolDefaults.approval,
  } = definition;
  if (trusted && definition.untrusted) throw invalid(name, 'it is trusted and untrusted: remove one of them');
  if (definition.safeWhenTainted !== undefined && effects !== 'once')
    throw invalid(
      name,
      `safeWhenTainted has no meaning for the effects \`${effects}\`: remove it, or set effects to once`,
    );
  if (retry && effects === 'once')
    throw invalid(name, 'a tool with effects `once` cannot be retried: remove retry, or set effects');
  if (definition.repeat !== undefined && effects !== 'once')
    throw invalid(name, `repeat has no meaning for the effects \`${effects}\`: remove repeat, or set effects to once`);
  const parse = (value: Json) => parseWith(name, input, value);
  return {
    ...(definition as unknown as Pick<
      Tool,
      'execute' | 'reconcile' | 'summarize' | 'files' | 'decisions' | 'change' | 'question' | 'handoff' | 'reads'
    >),
    name,
    description: definition.description ?? '',
    inputSchema: inputSchemaOf(name, input),
    effects,
    repeat,
    isConfined: () => confined,
    secrets: [...secrets],
    usesFiles,
    timeoutMs,
    retry: {
      times: retry?.times ?? toolDefaults.retry.times,
      backoffMs: retry?.backoffMs ?? toolDefaults.retry.backoffMs,
    },
    trusted,
    untrusted: isUntrustedBy(name, definition),
    safeWhenTainted,
    parse,
    approval: typeof approval === 'function' ? 'computed' : approval,
    approvalFor: async (value, context) => {
      if (typeof approval !== 'function') return ruleOf(name, approval);
      const parsed = parse(value);
      return 'value' in parsed ? ruleOf(name, await approval(parsed.value as never, context as never)) : undefined;
    },
  };
};
