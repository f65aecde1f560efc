import { readFileSync } from 'node:fs';
import { defaultPolicy } from '../../src/core/runs/send.ts';
import { defaultMaxSteps } from '../../src/core/session/agent.ts';
import { defaultBy } from '../../src/core/state/commit.ts';
import { defaultOutputTokens } from '../../src/core/worker/model-step.ts';
import { Priority } from '../../src/schema/description.ts';
import { memberRoles } from '../../src/schema/member-roles.ts';
import { inputPolicies, Limits, waitReasons } from '../../src/schema/run.ts';
import { Provenance } from '../../src/schema/state.ts';
import { runEnds } from '../../src/schema/statuses.ts';
import { defaultPriority } from '../../src/stores/queue/work-entry.ts';
import { toolDefaults } from '../../src/tools/define-tool.ts';
import { subagentDefaults } from '../../src/tools/subagent.ts';
import { anchorOf, code, linkTo, table } from '../markdown.ts';
import { fieldsOf, type Group, membersOf, optionsSection } from './options.ts';
import { markdownPage, type Page } from './page.ts';
import { type Member, readAlias } from './read-interface.ts';

const source = (file: string): string => readFileSync(file, 'utf8');
const choice = (values: readonly string[]): string => values.map((value) => `'${value}'`).join(' | ');

/** Replaces type names of the source code with text that is clearer to a reader. */
const plainNames: readonly (readonly [name: RegExp, text: string])[] = [
  [/StandardSchemaV1\.InferOutput<Schema>/g, 'Input'],
  [/ContextWith<SecretName>/g, 'ToolContext'],
  [/\bSecretName\b/g, 'string'],
  [/\bApproval<Input>/g, readAlias(source('src/tools/define-tool.ts'), 'Approval')],
  [/\bEffects\b/g, readAlias(source('src/core/ports/tool.ts'), 'Effects')],
  [/\bCheckingSchema<Own, Parsed>/g, 'StandardSchemaV1<Own>'],
  [/\bExclude<WaitReason, 'model'>/g, choice(waitReasons.filter((reason) => reason !== 'model'))],
  [/^A$/, 'Agent'],
  [/\bInputPolicy\b/g, choice(inputPolicies)],
  [/\bPriority\b/g, choice(Priority.options)],
  [/\bProvenance\b/g, choice(Provenance.options)],
  [/\bMemberRole\[\]/g, `(${choice(memberRoles)})[]`],
];

const told = (file: string, name: string): readonly Member[] =>
  membersOf(file, name).map((member) => ({
    ...member,
    type: plainNames.reduce((type, [known, text]) => type.replace(known, () => text), member.type),
  }));

interface Definition extends Group {
  /** The type that this group documents. */
  readonly type?: string;
}

const runResultFile = 'src/schema/run-result.ts';
const ofStatus = (name: string, status: string): readonly Member[] =>
  told(runResultFile, name).map((member) => ({ ...member, about: `Of one that ${status}. ${member.about}` }));
const runResult = [
  ...told(runResultFile, 'RunFields').map((member) =>
    member.name === 'status' ? { ...member, type: choice([...runEnds, 'waiting', 'paused']) } : member,
  ),
  ...ofStatus('SucceededRun', 'succeeded'),
  ...ofStatus('FailedRun', 'failed'),
  ...ofStatus('WaitingRun', 'waits'),
];

const definitions: readonly Definition[] = [
  {
    title: 'defineAgent',
    about:
      'From `perdure`. An agent is a named, versioned definition. Pass it to `openRuntime({ agents })`, and open sessions with it. Unknown fields are rejected with `AGENT_INVALID`.',
    members: told('src/core/session/agent.ts', 'AgentDefinition'),
  },
  {
    title: 'settings',
    type: 'ModelSettings',
    about: 'The field `settings` of `defineAgent`.',
    members: told('src/core/ports/model.ts', 'ModelSettings'),
    defaults: { maxOutputTokens: defaultOutputTokens },
  },
  {
    title: 'policies',
    type: 'AgentPolicies',
    about: 'The field `policies` of `defineAgent`.',
    members: told('src/core/session/agent.ts', 'AgentPolicies'),
    defaults: { maxSteps: defaultMaxSteps },
  },
  {
    title: 'budget',
    about:
      'A field of `policies` and of `sessions.open`, and the argument of `session.limit`. Fields that are left out set no limit. A session and its subagents share one budget.',
    type: 'Limits',
    members: fieldsOf(Limits),
  },
  {
    title: 'defineTool',
    about:
      'From `perdure` and `perdure/tools`. `Input` is the output type of the schema, and `Output` the result type of `execute`. Unknown fields are rejected with `TOOL_INVALID`. [The guide](../guides/tools-and-agents.md) shows examples.',
    members: told('src/tools/define-tool.ts', 'ToolDefinition'),
    defaults: { ...toolDefaults },
  },
  {
    title: 'retry',
    type: 'ToolRetry',
    about: 'The field `retry` of `defineTool`.',
    members: told('src/tools/define-tool.ts', 'ToolRetry'),
    defaults: { backoffMs: toolDefaults.retry.backoffMs },
  },
  {
    title: 'approval',
    type: 'ApprovalRule',
    about: 'The rule in the field `approval` of `defineTool`. `approval: true` means the rule `{}`.',
    members: told('src/core/ports/tool.ts', 'ApprovalRule'),
  },
  {
    title: 'context',
    type: 'ToolContext',
    about: 'The second argument of `execute` and `reconcile`, after the input.',
    members: told('src/core/ports/tool.ts', 'ToolContext'),
  },
  {
    title: 'subagent',
    type: 'SubagentOptions',
    about:
      'From `perdure/tools`. `subagent(agent, options?)` creates a tool that delegates a task to another agent, in a separate session. Pass that agent to `openRuntime({ agents })` too.',
    members: told('src/tools/subagent.ts', 'SubagentOptions'),
    defaults: { ...subagentDefaults },
  },
  {
    title: 'defineScript',
    about:
      'From `perdure`. A script replaces a model: it needs no key, and its answers are always the same. Pass it to an agent as its `model`.',
    members: told('src/models/script.ts', 'ScriptDefinition'),
  },
  {
    title: 'steps',
    type: 'ScriptStep',
    about: 'The field `steps` of `defineScript`. Each step has a text, reasoning or calls.',
    members: told('src/models/script.ts', 'ScriptStep'),
  },
  {
    title: 'when',
    type: 'Condition',
    about:
      'The field `when` of a step. All of its conditions must hold. Patterns are regular expressions that ignore case.',
    members: told('src/models/script.ts', 'Condition'),
  },
  {
    title: 'sessions.open',
    about: '`runtime.sessions.open(options?)` opens a session.',
    type: 'OpenOptions',
    members: told('src/core/sessions/open-session.ts', 'OpenOptions'),
    defaults: { priority: defaultPriority },
  },
  {
    title: 'session.send',
    about:
      '`session.send(input, options?)` stores an input and creates the run that will answer it. The input is text, or a list of parts: text, and files with their bytes as base64. **A worker must run somewhere**, or nothing happens: `await runtime.worker().start()`.',
    type: 'SendOptions',
    members: told('src/core/runs/send.ts', 'SendOptions'),
    defaults: { policy: defaultPolicy },
  },
  {
    title: 'run.result',
    about:
      'The result of `run.result()` once the run has ended, waits for someone or is paused, and of `run.waitForEnd()` once it has ended. It is a union by `status`: check the status before you read a field that only one status has.',
    type: 'RunResult',
    members: runResult,
  },
  {
    title: 'session.fork',
    about: '`session.fork(options?)` creates a child session. Nothing is copied.',
    type: 'ForkOptions',
    members: told('src/core/sessions/fork.ts', 'ForkOptions'),
  },
  {
    title: 'session.commit',
    about:
      '`session.commit(change, options?)` changes the typed state. The change is a function on a draft, or an RFC 6902 patch.',
    type: 'CommitOptions',
    members: told('src/core/state/commit.ts', 'CommitOptions'),
    defaults: { by: defaultBy },
  },
];

/** Types that another page documents. */
const elsewhere: Readonly<Record<string, string>> = {
  RuntimeOptions: 'configuration.md#openruntime',
  WorkerOptions: 'configuration.md#runtimeworker',
};

const page = 'definitions.md';

const places = new Map(
  definitions.flatMap(({ type, title }) => (type ? [[type, `#${anchorOf(title)}`] as const] : [])),
);

/** The page section that documents each type, by type name, for this page and the configuration page. */
export const toldTypes: ReadonlyMap<string, string> = new Map([
  ...[...places].map(([type, anchor]) => [type, `${page}${anchor}`] as const),
  ...Object.entries(elsewhere),
]);

const links = (...titles: readonly string[]): string => titles.map((title) => linkTo(title, code(title))).join(', ');

const contents: Readonly<Record<string, string>> = {
  'Define an agent': links('defineAgent', 'settings', 'policies', 'budget'),
  'Define a tool': links('defineTool', 'retry', 'approval', 'context', 'subagent'),
  'Replace a model by a script': links('defineScript', 'steps', 'when'),
  'Open a runtime, start a worker': `[\`openRuntime\`](${elsewhere.RuntimeOptions}), [\`runtime.worker\`](${elsewhere.WorkerOptions})`,
  'Work with a session': links('sessions.open', 'session.send', 'run.result', 'session.fork', 'session.commit'),
};

export const definitionsPage: Page = {
  path: `docs/reference/${page}`,
  render: () =>
    markdownPage(
      'Agents, tools and options',
      'Definitions that a program writes, and the options of the most used methods. A `?` marks an optional field. [The library page](library.md) has every method of every handle; [tools and agents](../guides/tools-and-agents.md) shows them in use.',
      table(['To', 'See'], Object.entries(contents)),
      ...definitions.map((each) => optionsSection({ ...each, places })),
    ),
};
