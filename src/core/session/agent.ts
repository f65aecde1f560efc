import { hash } from 'node:crypto';
import type { StandardSchemaV1 } from '@standard-schema/spec';
import { deepFreeze } from '../../schema/deep-freeze.ts';
import { PerdureError } from '../../schema/error.ts';
import { fieldProblem } from '../../schema/field-problem.ts';
import type { Json } from '../../schema/json.ts';
import { jsonProblem, textProblem } from '../../schema/json-problem.ts';
import { pointerOf } from '../../schema/pointer.ts';
import { type Reach, reaches } from '../../schema/reaches.ts';
import type { Limits } from '../../schema/run.ts';
import type { OwnState } from '../../schema/state.ts';
import { type TaintPolicy, taintPolicies } from '../../schema/taint-kinds.ts';
import { type JsonSchema, jsonSchemaOf } from '../ports/json-schema.ts';
import { type ModelSettings, modelName } from '../ports/model.ts';
import type { Tool } from '../ports/tool.ts';
import type { Summarize } from './context/extraction.ts';
import type { TaintPolicies } from './runs/taint-gate.ts';
import type { StateProblem } from './state/state-change.ts';

/**
 * A schema that only validates. The state holds what was committed, not the schema's output. So a schema whose output
 * type differs from its input type does not compile, and the text below is the compiler's message.
 */
export type CheckingSchema<Own, Parsed> = StandardSchemaV1<Own, Parsed> &
  (AreSame<Own, Parsed> extends true
    ? unknown
    : 'a state schema must not change values: remove its defaults, coercions, transforms and brands');
/** Exact, so that `any` and an added or dropped optional key count as different too. */
type AreSame<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;

/** One model of an agent: a name, a script, a language model of the AI SDK, or a `Model`. */
export type ModelChoice = string | (object & { readonly length?: never });

export const modelFailurePolicies = ['fallback', 'wait', 'fail'] as const;
export type ModelFailurePolicy = (typeof modelFailurePolicies)[number];

export const recallPolicies = ['auto', 'listed'] as const;
export type RecallPolicy = (typeof recallPolicies)[number];

export interface AgentDefinition<Own extends object = OwnState, Output = unknown, Parsed = Own> {
  /** The name of the agent: a letter, then letters, digits, `-` or `_`, 63 characters at most. */
  readonly name: string;
  /**
   * A whole number from 1, by default 1. Raise it when you change the agent: a change under the same version causes a
   * warning. A session keeps the version that it was opened with, until `session.bind` binds it to another.
   */
  readonly version?: number;
  /**
   * The callers that may see and use the agent: those of the reach `workspace`, which is the default, or also those of
   * the reach `own`.
   */
  readonly offeredTo?: Reach;
  /** The instructions that the model reads before the conversation. */
  readonly instructions?: string;
  /**
   * A name such as `anthropic/…` or `openai/…`, a script of `defineScript`, or a language model of the AI SDK. A list
   * names the first model to ask and its fallbacks, in order; `policies.onModelFailure` says when they are asked.
   * `session.send` needs a model. Your own loop does not.
   */
  readonly model?: ModelChoice | readonly ModelChoice[];
  /** The settings of each request to the model. */
  readonly settings?: ModelSettings;
  /** Tools made by `defineTool`, and tools of `perdure/tools`. */
  readonly tools?: readonly Tool[];
  /**
   * A schema that the answer must fit, as JSON. `result().output` is then the parsed value. Without it, the answer is
   * text.
   */
  readonly output?: StandardSchemaV1<unknown, Output>;
  /**
   * A command that recreates files which snapshots leave out, such as `npm ci`. It runs in a worktree that was just
   * restored, by the agent's tool `shell` or by the one named here.
   */
  readonly prepare?: string | { readonly command: string; readonly shell: Tool };
  /** Limits, and how older turns are summarized. */
  readonly policies?: AgentPolicies;
  /**
   * The schema of the agent's own part of the state, `state.own`, and its type. The schema only validates, and the
   * state holds the values that were committed. So a schema with defaults, coercions or transforms does not compile.
   */
  readonly state?: CheckingSchema<Own, Parsed>;
  /** The value of `state.own` in a new session, by default `{}`. Required when the schema does not accept `{}`. */
  readonly initial?: NoInfer<Own>;
  /**
   * Converts `state.own` of an earlier version to the schema of this version. Required when the schema has changed.
   */
  readonly migrate?: (own: OwnState, from: { readonly version: number }) => Own;
}

export interface AgentPolicies {
  /** The maximum number of model answers in one run. A run that reaches it fails. */
  readonly maxSteps?: number;
  /**
   * Writes the summary of older turns that no longer fit into the context. By default the summary has one line for each
   * turn and needs no model.
   */
  readonly summarize?: Summarize;
  /**
   * The limits of a session's total usage, unless the session is opened with its own budget. At the limit, the run
   * waits for a person.
   */
  readonly budget?: Limits;
  /**
   * What a run does when its model gives no answer. `fallback`, the default, asks the next model of the list, and waits
   * when every model has failed. `wait` asks only the first model, and waits. `fail` fails the run.
   */
  readonly onModelFailure?: ModelFailurePolicy;
  /**
   * How long a run waits for its models in total, from one answer to the next, before it fails: 30 minutes by default.
   */
  readonly maxModelWaitMs?: number;
  /**
   * The maximum bytes of one answer, including reasoning and inputs of calls: 8 MiB by default. A model that exceeds
   * them, or by far the tokens that were requested, fails with `endless`.
   */
  readonly maxAnswerBytes?: number;
  /**
   * The maximum number of calls in one answer that run: 128 by default, 10,000 at most. Each further call fails as
   * `denied`, and the model can make it in its next answer.
   */
  readonly maxCalls?: number;
  /**
   * When the model is offered the tool `recall`. `auto`, the default: whenever its context leaves something out.
   * `listed`: only if `tools` has it.
   */
  readonly recall?: RecallPolicy;
  /**
   * What happens to a call that the model asks for while data from outside is in its context: it runs (`allow`), a
   * person is asked (`approve`), or it is refused (`deny`). One value is for `once` tools that are not declared safe, as
   * `*` is in a record; the default is `approve`. A record also names tools, whatever their effects.
   */
  readonly tainted?: TaintPolicy | TaintPolicies;
}

/** Describes and parses an answer that must fit a schema. */
export interface AnswerForm {
  readonly schema: JsonSchema;
  parse(text: string): { readonly value: unknown } | { readonly problem: string };
}

/** The result of `defineAgent`, with the types of its schemas. `Agent` without type arguments means any agent. */
export interface Agent<Own = unknown, Output = unknown> {
  /** Only for the compiler: no agent has this field. */
  readonly '~types'?: { readonly own: Own; readonly output: Output };
  readonly name: string;
  readonly version: number;
  readonly offeredTo: Reach;
  readonly instructions?: string | undefined;
  /** The model and its fallbacks, in order. */
  readonly models: readonly ModelChoice[];
  /** Their names, as logs and listings show them. */
  readonly modelNames: readonly string[];
  readonly settings: ModelSettings;
  readonly tools: ReadonlyMap<string, Tool>;
  readonly output?: AnswerForm | undefined;
  readonly prepare?: { readonly command: string; readonly shell: Tool } | undefined;
  readonly maxSteps: number;
  readonly summarize?: Summarize | undefined;
  readonly budget?: Limits | undefined;
  readonly onModelFailure: ModelFailurePolicy;
  readonly maxModelWaitMs: number;
  readonly maxAnswerBytes: number;
  readonly maxCalls: number;
  readonly recall: RecallPolicy;
  /** By the names of tools. */
  readonly tainted: TaintPolicies;
  readonly initial: OwnState;
  /** Identifies the schema of the agent's own state. A version with another hash needs `migrate`. */
  readonly schemaHash: string;
  readonly hasState: boolean;
  problems(own: unknown): readonly StateProblem[];
  migrate?(own: OwnState, from: { readonly version: number }): unknown;
}

const namePattern = /^[a-z][a-z0-9_-]{0,62}$/i;

const fields: Record<keyof AgentDefinition, true> = {
  name: true,
  version: true,
  offeredTo: true,
  instructions: true,
  model: true,
  settings: true,
  tools: true,
  output: true,
  prepare: true,
  policies: true,
  state: true,
  initial: true,
  migrate: true,
};
const settingFields: Record<keyof ModelSettings, true> = { maxOutputTokens: true, temperature: true, provider: true };
const policyFields: Record<keyof AgentPolicies, true> = {
  maxSteps: true,
  summarize: true,
  budget: true,
  onModelFailure: true,
  maxModelWaitMs: true,
  maxAnswerBytes: true,
  maxCalls: true,
  recall: true,
  tainted: true,
};

export const defaultModelWaitMs = 30 * 60_000;
export const defaultAnswerBytes = 8 * 1024 * 1024;
export const defaultMaxCalls = 128;
/** As many as a message has parts. */
const mostCalls = 10_000;

const policyProblem = ({
  onModelFailure = 'fallback',
  maxModelWaitMs = 0,
  maxAnswerBytes = defaultAnswerBytes,
  maxCalls = defaultMaxCalls,
  recall = 'auto',
}: AgentPolicies): string | undefined => {
  if (!recallPolicies.includes(recall)) {
    return `policies.recall: expected ${recallPolicies.join(' or ')}, got ${JSON.stringify(recall)}`;
  }
  if (!modelFailurePolicies.includes(onModelFailure)) {
    return `policies.onModelFailure: expected ${modelFailurePolicies.join(', ')}, got ${JSON.stringify(onModelFailure)}`;
  }
  if (!Number.isInteger(maxAnswerBytes) || maxAnswerBytes < 1) {
    return `policies.maxAnswerBytes: expected a whole number of bytes from 1, got ${String(maxAnswerBytes)}`;
  }
  if (!Number.isInteger(maxCalls) || maxCalls < 1 || maxCalls > mostCalls) {
    return `policies.maxCalls: expected a whole number from 1 to ${mostCalls}, got ${String(maxCalls)}`;
  }
  if (Number.isFinite(maxModelWaitMs) && maxModelWaitMs >= 0) return undefined;
  return `policies.maxModelWaitMs: expected milliseconds from 0, got ${String(maxModelWaitMs)}`;
};

/**
 * Returns why a definition is invalid. Validates without zod, because programs define agents at startup and loading
 * the schemas would slow that down.
 */
const definitionProblem = (definition: Partial<Record<string, unknown>>): string | undefined => {
  const { name, version = 1, offeredTo = 'workspace', instructions, settings = {}, policies = {} } = definition;
  if (typeof name !== 'string' || !namePattern.test(name)) {
    return 'name: expected a letter, then letters, digits, - or _, 63 characters at most';
  }
  if (!Number.isSafeInteger(version) || Number(version) < 1) return 'version: expected a whole number from 1';
  if (!reaches.includes(offeredTo as Reach)) return `offeredTo: expected ${reaches.join(' or ')}`;
  const unknown =
    fieldProblem(definition, fields) ?? fieldProblem(settings, settingFields) ?? fieldProblem(policies, policyFields);
  const wrong = unknown ?? policyProblem(policies as AgentPolicies);
  if (wrong || instructions === undefined) return wrong;
  if (typeof instructions !== 'string') return 'instructions: expected text';
  const problem = textProblem(instructions);
  return problem && `instructions: ${problem}`;
};

const invalid = (name: unknown, why: string): PerdureError => {
  const agent = name === undefined ? 'an agent without a name' : `the agent ${String(name)}`;
  return new PerdureError('AGENT_INVALID', `${agent} cannot be used: ${why}`, { details: { agent: name } });
};

const segmentOf = (part: PropertyKey | { readonly key: PropertyKey }): string =>
  String(typeof part === 'object' ? part.key : part);

const ignore = (): void => undefined;

/**
 * Validates a value synchronously. Rejects asynchronous schemas, which Standard Schema allows, because commits are
 * validated synchronously.
 */
const validateNow = (name: string, schema: StandardSchemaV1, value: unknown) => {
  const result = schema['~standard'].validate(value);
  if ('then' in result) {
    result.then(ignore, ignore);
    throw invalid(name, 'its state schema validates asynchronously: use a schema without asynchronous checks');
  }
  return result;
};

const ownProblems = (name: string, schema: StandardSchemaV1, own: unknown): readonly StateProblem[] => {
  const result = validateNow(name, schema, own);
  return (result.issues ?? []).map(({ path = [], message }) => ({
    path: pointerOf('own', ...path.map(segmentOf)),
    message,
  }));
};

/** The identity of a schema: its JSON Schema, or only the agent's version if it has no JSON Schema. */
const describe = (schema: StandardSchemaV1, version: number): unknown => {
  const { vendor } = schema['~standard'];
  const json = jsonSchemaOf(schema);
  return json === undefined ? { vendor, version } : { vendor, json };
};

export const defaultMaxSteps = 100;

const isTool = (value: unknown): value is Tool =>
  typeof (value as Partial<Tool> | null | undefined)?.approvalFor === 'function';

const toolsByName = (name: string, tools: readonly Tool[]): ReadonlyMap<string, Tool> => {
  if (!Array.isArray(tools)) throw invalid(name, 'tools: expected a list of tools made by defineTool');
  const other = tools.findIndex((tool) => !isTool(tool));
  if (other >= 0) throw invalid(name, `tools[${other}] was not made by defineTool`);
  const byName = new Map(tools.map((tool) => [tool.name, tool]));
  if (byName.size < tools.length) throw invalid(name, 'two of its tools have the same name');
  return byName;
};

const answerForm = (name: string, schema: StandardSchemaV1): AnswerForm => {
  const json = jsonSchemaOf(schema);
  if (!json)
    throw invalid(
      name,
      'its output schema cannot be converted to JSON Schema: use one that can, such as a Zod 4 schema',
    );
  return {
    schema: json,
    parse: (text) => {
      let value: unknown;
      try {
        value = JSON.parse(text);
      } catch {
        return { problem: 'the answer is not JSON' };
      }
      const result = validateNow(name, schema, value);
      if (!result.issues) return { value: result.value };
      const [first] = result.issues;
      return { problem: `${pointerOf(...(first?.path ?? []).map(segmentOf))}: ${first?.message}` };
    },
  };
};

const maxModels = 20;

interface NamedModels {
  readonly models: readonly ModelChoice[];
  readonly modelNames: readonly string[];
}

/** The models of an agent and their names. Runs know their models by name, so that no two may have the same one. */
const modelsOf = (agent: string, given: AgentDefinition['model']): NamedModels => {
  if (given === undefined) return { models: [], modelNames: [] };
  const models: readonly ModelChoice[] = Array.isArray(given) ? given : [given];
  const modelNames = models.map((model) => modelName(model) ?? 'unnamed');
  if (models.length === 0) throw invalid(agent, 'model: the list is empty: name a model, or leave `model` out');
  if (models.length > maxModels) throw invalid(agent, `model: ${models.length} models, but ${maxModels} at most`);
  const twice = modelNames.find((name, index) => modelNames.indexOf(name) < index);
  if (twice !== undefined) throw invalid(agent, `model: ${twice} occurs twice: give each model its own name`);
  return { models, modelNames };
};

const isPolicy = (value: unknown): value is TaintPolicy => taintPolicies.some((policy) => policy === value);

/** A name that no tool has would leave a tool without its gate. */
const taintPoliciesOf = (
  name: string,
  given: AgentPolicies['tainted'] = {},
  tools: ReadonlyMap<string, Tool>,
): TaintPolicies => {
  const policies = typeof given === 'string' ? { '*': given } : given;
  if (typeof policies !== 'object' || policies === null) throw invalid(name, 'policies.tainted: expected a record');
  for (const [tool, policy] of Object.entries(policies)) {
    if (!isPolicy(policy)) {
      throw invalid(name, `policies.tainted: expected ${taintPolicies.join(', ')}, got ${JSON.stringify(policy)}`);
    }
    if (tool !== '*' && !tools.has(tool)) throw invalid(name, `policies.tainted: there is no tool ${tool}`);
  }
  return { ...policies };
};

const prepareOf = (
  name: string,
  given: AgentDefinition['prepare'],
  tools: ReadonlyMap<string, Tool>,
): Agent['prepare'] => {
  if (given === undefined) return undefined;
  const { command, shell } = typeof given === 'string' ? { command: given, shell: tools.get('shell') } : given;
  if (typeof command !== 'string' || command === '') throw invalid(name, 'prepare: expected a command');
  if (typeof shell?.execute === 'function') return { command, shell };
  throw invalid(
    name,
    'prepare needs the tool shell, which the agent does not have: add shell to tools, or pass { command, shell }',
  );
};

/** The type of `state.own` in the sessions of an agent. */
export type OwnOf<A extends Agent> = A extends Agent<infer Own> ? (unknown extends Own ? OwnState : Own) : never;

/** The type of the output of an agent's runs. */
export type OutputOf<A extends Agent> =
  A extends Agent<unknown, infer Output> ? (unknown extends Output ? Json : Output) : never;

export const defineAgent = <Own extends object = OwnState, Output = string, Parsed = Own>(
  definition: AgentDefinition<Own, Output, Parsed>,
): Agent<Own, Output> => {
  const wrong = definitionProblem({ ...definition });
  if (wrong) throw invalid(definition?.name, wrong);
  const { name, version = 1, instructions, state, migrate, model, settings = {}, policies = {} } = definition;
  if (jsonProblem(definition.initial ?? {})) throw invalid(name, 'its initial state is not JSON');
  const initial = deepFreeze(structuredClone(definition.initial ?? {})) as OwnState;
  const problems = state ? ownProblems(name, state, initial) : [];
  if (problems.length > 0) {
    throw invalid(
      name,
      `its initial state is not valid (${problems[0]!.path}: ${problems[0]!.message}): give \`initial\``,
    );
  }
  const tools = toolsByName(name, definition.tools ?? []);
  return {
    name,
    version,
    offeredTo: definition.offeredTo ?? 'workspace',
    instructions,
    ...modelsOf(name, model),
    settings,
    tools,
    prepare: prepareOf(name, definition.prepare, tools),
    output: definition.output && answerForm(name, definition.output),
    maxSteps: policies.maxSteps ?? defaultMaxSteps,
    summarize: policies.summarize,
    budget: policies.budget,
    onModelFailure: policies.onModelFailure ?? 'fallback',
    maxModelWaitMs: policies.maxModelWaitMs ?? defaultModelWaitMs,
    maxAnswerBytes: policies.maxAnswerBytes ?? defaultAnswerBytes,
    maxCalls: policies.maxCalls ?? defaultMaxCalls,
    recall: policies.recall ?? 'auto',
    tainted: taintPoliciesOf(name, policies.tainted, tools),
    initial,
    hasState: state !== undefined,
    schemaHash: hash('sha256', JSON.stringify(state ? describe(state, version) : null), 'hex'),
    problems: (own) => (state ? ownProblems(name, state, own) : []),
    ...(migrate && { migrate: (own: OwnState, from: { readonly version: number }) => migrate(own, from) }),
  };
};

/** Whether a value was made by `defineAgent`. */
export const isAgent = (value: unknown): value is Agent =>
  typeof (value as Partial<Agent> | null | undefined)?.problems === 'function';

/** The agents of a runtime, by name and version. */
export const agentRegistry = (agents: readonly Agent[]): ReadonlyMap<string, Agent> => {
  if (!Array.isArray(agents))
    throw new PerdureError('AGENT_INVALID', 'agents: expected a list of agents made by defineAgent');
  const other = agents.findIndex((agent) => !isAgent(agent));
  if (other >= 0) throw new PerdureError('AGENT_INVALID', `agents[${other}] was not made by defineAgent`);
  const registry = new Map<string, Agent>();
  for (const agent of agents) {
    if (registry.has(agentName(agent))) throw invalid(agentName(agent), 'this name and version occur twice');
    registry.set(agentName(agent), agent);
  }
  return registry;
};

/** The error for an agent that does not exist, or is not offered to the caller. */
export const unknownAgent = (
  offered: Iterable<Pick<Agent, 'name' | 'version'>>,
  { name, version }: { readonly name: string; readonly version?: number | undefined },
): PerdureError => {
  const there = [...offered].map((agent) => `${agent.name} ${agent.version}`).join(', ') || 'none';
  const message = `there is no agent ${name}${version === undefined ? '' : ` ${version}`} here; available: ${there}`;
  return new PerdureError('AGENT_INVALID', message, { details: { name, version } });
};

export const agentName = ({ name, version }: { readonly name: string; readonly version: number }): string =>
  `${name}@${version}`;
