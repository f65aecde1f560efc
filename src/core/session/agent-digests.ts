import { hash } from 'node:crypto';
import type { PayloadOf } from '../../schema/event.ts';
import type { Tool } from '../ports/tool.ts';
import { type Agent, defaultAnswerBytes, defaultMaxCalls, defaultModelWaitMs } from './agent.ts';

/**
 * The maximum number of tools with separate digests. An agent with more tools has one digest for all of them, so that
 * the record stays small.
 */
const maxTools = 100;
const maxNamed = 10;

const digest = (content: unknown): string => hash('sha256', JSON.stringify(content) ?? '', 'hex').slice(0, 16);

/**
 * The description in a tool's definition. Excludes a computed description, because it depends on the host and not only
 * on the author's definition.
 */
const writtenDescription = (tool: Tool): unknown => Object.getOwnPropertyDescriptor(tool, 'description')?.value;

const toolContent = (tool: Tool): unknown => {
  const { inputSchema, effects, approval, secrets, timeoutMs, retry, repeat } = tool;
  const content = [writtenDescription(tool), inputSchema, effects, approval, secrets, timeoutMs, retry];
  // The default is left out, so that digests of release 0.1.0 stay the same.
  return repeat === 'ask' ? content : [...content, repeat];
};

/** A script is all of its model. Of any other model only the name is known. */
const contentOfModel = (model: unknown, name: string | undefined): unknown => {
  const { steps } = (model ?? {}) as { readonly steps?: unknown };
  return Array.isArray(steps) ? [name, model] : name;
};

/** An agent with one model has the digest of that model, as it had before agents could have several. */
const modelContent = ({ models, modelNames }: Agent): unknown => {
  const contents = models.map((model, index) => contentOfModel(model, modelNames[index]));
  return contents.length > 1 ? contents : contents[0];
};

/** The policies. Those that have their default are left out, so that a new policy changes no digest. */
const policyContent = ({
  maxSteps,
  budget,
  summarize,
  onModelFailure,
  maxModelWaitMs,
  maxAnswerBytes,
  maxCalls,
  recall,
  tainted,
}: Agent): unknown => ({
  maxSteps,
  budget,
  summarize: summarize !== undefined,
  ...(onModelFailure !== 'fallback' && { onModelFailure }),
  ...(maxModelWaitMs !== defaultModelWaitMs && { maxModelWaitMs }),
  ...(maxAnswerBytes !== defaultAnswerBytes && { maxAnswerBytes }),
  ...(maxCalls !== defaultMaxCalls && { maxCalls }),
  ...(recall !== 'auto' && { recall }),
  ...(Object.keys(tainted).length > 0 && { tainted }),
});

const toolDigests = (tools: Agent['tools']): Record<string, string> => {
  const contents = [...tools].map(([name, tool]) => [`tools.${name}`, toolContent(tool)] as const);
  if (contents.length > maxTools) return { tools: digest(contents) };
  return Object.fromEntries(contents.map(([part, content]) => [part, digest(content)]));
};

const computed = new WeakMap<Agent, Readonly<Record<string, string>>>();

/**
 * A digest for each part of an agent except its state schema, which has its own hash. A part that is not defined has
 * no digest.
 */
export const digestsOf = (agent: Agent): Readonly<Record<string, string>> => {
  const known = computed.get(agent);
  if (known) return known;
  const { instructions, initial, settings, output, prepare } = agent;
  const parts = {
    instructions,
    model: modelContent(agent),
    initial: Object.keys(initial).length > 0 ? initial : undefined,
    settings,
    output: output?.schema,
    prepare: prepare?.command,
    policies: policyContent(agent),
  };
  const defined = Object.entries(parts).filter(([, content]) => content !== undefined);
  const digests = {
    ...Object.fromEntries(defined.map(([part, content]) => [part, digest(content)])),
    ...toolDigests(agent.tools),
  };
  computed.set(agent, digests);
  return digests;
};

/** The payload that binds a session to the agent as it is now. */
export const bindingOf = (agent: Agent): PayloadOf<'agent.bound'> => ({
  agent: { name: agent.name, version: agent.version },
  schemaHash: agent.schemaHash,
  digests: { ...digestsOf(agent) },
});

/** The names of the parts that differ between the agent and a session's binding. Empty if the binding has no digests. */
export const changedParts = ({ schemaHash, digests }: PayloadOf<'agent.bound'>, agent: Agent): readonly string[] => {
  if (!digests) return [];
  const now = digestsOf(agent);
  const parts = [...new Set([...Object.keys(digests), ...Object.keys(now)])].filter(
    (part) => digests[part] !== now[part],
  );
  const changed = schemaHash === agent.schemaHash ? parts : ['state', ...parts];
  return changed.length > maxNamed ? [...changed.slice(0, maxNamed), `${changed.length - maxNamed} more`] : changed;
};
