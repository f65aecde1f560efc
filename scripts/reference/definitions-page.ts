import { readFileSync } from 'node:fs';
import { defaultPolicy } from '../../src/core/runs/send.ts';
import { defaultMaxSteps } from '../../src/core/session/agent.ts';
import { defaultBy } from '../../src/core/state/commit.ts';
import { defaultOutputTokens } from '../../src/core/worker/model-step.ts';
import { Priority } from '../../src/schema/description.ts';
import { memberRoles } from '../../src/schema/member-roles.ts';
import { inputPolicies, Limits, runEnds, waitReasons } from '../../src/schema/run.ts';
import { Provenance } from '../../src/schema/state.ts';
import { defaultPriority } from '../../src/stores/queue/work-entry.ts';
import { toolDefaults } from '../../src/tools/define-tool.ts';
import { subagentDefaults } from '../../src/tools/subagent.ts';
import { anchorOf, code, linkTo, table } from '../markdown.ts';
import { fieldsOf, type Group, membersOf, optionsSection } from './options.ts';
import { markdownPage, type Page } from './page.ts';
import { type Member, readAlias } from './read-interface.ts';

const source = (file: string): string => readFileSync(file, 'utf8');
const choice = (values: readonly string[]): string => values.map((value) => `'${value}'`).join(' | ');

/** What types are called in the sources, and what says more to a reader. */
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
  /** The type that it tells. */
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
      'From `perdure`. An agent is a named, versioned definition. Give it to `openRuntime({ agents })`, and open sessions with it. What is not known is refused with `AGENT_INVALID`.',
    members: told('src/core/session/agent.ts', 'AgentDefinition'),
  },
  {
    title: 'settings',
    type: 'ModelSettings',
    about: 'Of `defineAgent`.',
    members: told('src/core/ports/model.ts', 'ModelSettings'),
    defaults: { maxOutputTokens: defaultOutputTokens },
  },
  {
    title: 'policies',
    type: 'AgentPolicies',
    about: 'Of `defineAgent`.',
    members: told('src/core/session/agent.ts', 'AgentPolicies'),
    defaults: { maxSteps: defaultMaxSteps },
  },
  {
    title: 'budget',
    about:
      'Of `policies`, of `sessions.open` and of `session.limit`. What is left out is not limited. A session and its subagents share it.',
    type: 'Limits',
    members: fieldsOf(Limits),
  },
  {
    title: 'defineTool',
    about:
      'From `perdure` and `perdure/tools`. `Input` is what the schema gives, and `Output` is what `execute` gives. What is not known is refused with `TOOL_INVALID`. [The guide](../guides/tools-and-agents.md) shows it at work.',
    members: told('src/tools/define-tool.ts', 'ToolDefinition'),
    defaults: { ...toolDefaults },
  },
  {
    title: 'retry',
    type: 'ToolRetry',
    about: 'Of `defineTool`.',
    members: told('src/tools/define-tool.ts', 'ToolRetry'),
    defaults: { backoffMs: toolDefaults.retry.backoffMs },
  },
  {
    title: 'approval',
    type: 'ApprovalRule',
    about: 'Of `defineTool`: the rule. `approval: true` is the rule `{}`.',
    members: told('src/core/ports/tool.ts', 'ApprovalRule'),
  },
  {
    title: 'context',
    type: 'ToolContext',
    about: 'What `execute` and `reconcile` of a tool are given after the input.',
    members: told('src/core/ports/tool.ts', 'ToolContext'),
  },
  {
    title: 'subagent',
    type: 'SubagentOptions',
    about:
      'From `perdure/tools`. `subagent(agent, options?)` makes a tool that has another agent do a task, in a session of its own. The runtime must hold that agent too.',
    members: told('src/tools/subagent.ts', 'SubagentOptions'),
    defaults: { ...subagentDefaults },
  },
  {
    title: 'defineScript',
    about:
      'From `perdure`. A script stands in for a model: it needs no key and always says the same. Give it to an agent as its `model`.',
    members: told('src/models/script.ts', 'ScriptDefinition'),
  },
  {
    title: 'steps',
    type: 'ScriptStep',
    about: 'Of `defineScript`. Each has a text, reasoning or calls.',
    members: told('src/models/script.ts', 'ScriptStep'),
  },
  {
    title: 'when',
    type: 'Condition',
    about: 'Of a step. Everything that it names must hold. Patterns are regular expressions; case does not matter.',
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
      '`session.send(input, options?)` stores an input, and the run that will answer it. The input is text, or a list of parts: text, and files with their bytes as base64. **A worker must run somewhere**, or nothing happens: `await runtime.worker().start()`.',
    type: 'SendOptions',
    members: told('src/core/runs/send.ts', 'SendOptions'),
    defaults: { policy: defaultPolicy },
  },
  {
    title: 'run.result',
    about:
      'What `run.result()` gives when the run has ended, waits for somebody or is paused, and `run.waitForEnd()` when it has ended. It is a union by `status`: what only one status has can be read behind a check of it.',
    type: 'RunResult',
    members: runResult,
  },
  {
    title: 'session.fork',
    about: '`session.fork(options?)` makes a child session. Nothing is copied.',
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

/** Those that another page tells. */
const elsewhere: Readonly<Record<string, string>> = {
  RuntimeOptions: 'configuration.md#openruntime',
  WorkerOptions: 'configuration.md#runtimeworker',
};

const page = 'definitions.md';

const places = new Map(
  definitions.flatMap(({ type, title }) => (type ? [[type, `#${anchorOf(title)}`] as const] : [])),
);

/** Where the types are told that this page and that of the configuration have, by name. */
export const toldTypes: ReadonlyMap<string, string> = new Map([
  ...[...places].map(([type, anchor]) => [type, `${page}${anchor}`] as const),
  ...Object.entries(elsewhere),
]);

const links = (...titles: readonly string[]): string => titles.map((title) => linkTo(title, code(title))).join(', ');

const contents: Readonly<Record<string, string>> = {
  'Define an agent': links('defineAgent', 'settings', 'policies', 'budget'),
  'Define a tool': links('defineTool', 'retry', 'approval', 'context', 'subagent'),
  'Stand in for a model': links('defineScript', 'steps', 'when'),
  'Open a runtime, start a worker': `[\`openRuntime\`](${elsewhere.RuntimeOptions}), [\`runtime.worker\`](${elsewhere.WorkerOptions})`,
  'Work with a session': links('sessions.open', 'session.send', 'run.result', 'session.fork', 'session.commit'),
};

export const definitionsPage: Page = {
  path: `docs/reference/${page}`,
  render: () =>
    markdownPage(
      'Agents, tools and options',
      'What you write in a program: the definitions, and the options of the methods that are used most. A `?` marks what may be left out. Every method of every handle is on [the page of the library](library.md); [tools and agents](../guides/tools-and-agents.md) shows these at work.',
      table(['To', 'See'], Object.entries(contents)),
      ...definitions.map((each) => optionsSection({ ...each, places })),
    ),
};
