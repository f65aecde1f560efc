import { readFileSync } from 'node:fs';
import * as client from '../../src/client/index.ts';
import type { Permission } from '../../src/core/access/guard.ts';
import { permissions } from '../../src/core/runtime/permissions.ts';
import * as library from '../../src/index.ts';
import * as server from '../../src/servers/http/index.ts';
import * as observe from '../../src/servers/observe/index.ts';
import * as postgres from '../../src/stores/postgres/index.ts';
import * as tools from '../../src/tools/index.ts';
import { code, linkTo, table } from '../markdown.ts';
import { toldTypes } from './definitions-page.ts';
import { markdownPage, type Page } from './page.ts';
import { type HandleMember, readHandle } from './read-handle.ts';

interface Handle {
  /** What it is called by whoever has it. */
  readonly title: string;
  readonly about: string;
  /** Its interfaces, each in its file. */
  readonly interfaces: readonly (readonly [file: string, name: string])[];
  /** Where the table of permissions has its verbs. */
  readonly verbs?: keyof typeof permissions;
}

const handles: readonly Handle[] = [
  {
    title: 'runtime',
    about:
      'From [`openRuntime(options)`](configuration.md#openruntime). `runtime.as(identity)` gives the same as a member of a workspace, with verbs as its role allows.',
    interfaces: [
      ['src/runtime.ts', 'Runtime'],
      ['src/core/runtime/scoped-runtime.ts', 'RuntimeVerbs'],
      ['src/core/runtime/scoped-runtime.ts', 'ScopedRuntime'],
    ],
    verbs: 'runtime',
  },
  {
    title: 'runtime.sessions',
    about: 'The sessions of the workspace.',
    interfaces: [['src/core/runtime/sessions.ts', 'Sessions']],
    verbs: 'sessions',
  },
  {
    title: 'session',
    about: 'From `runtime.sessions.open` and `get`, and from `session.fork`. A handle holds nothing open.',
    interfaces: [['src/core/runtime/session.ts', 'Session']],
    verbs: 'session',
  },
  {
    title: 'session.files',
    about: 'The files of the session, from the store: no worktree is needed.',
    interfaces: [['src/core/session-files/session-files.ts', 'SessionFiles']],
    verbs: 'files',
  },
  {
    title: 'session.artifacts',
    about: 'What is kept by name for people.',
    interfaces: [['src/core/session-files/artifacts.ts', 'SessionArtifacts']],
    verbs: 'artifacts',
  },
  {
    title: 'run',
    about: 'From `session.send` and `session.run`.',
    interfaces: [['src/core/runs/runs.ts', 'Run']],
    verbs: 'run',
  },
  {
    title: 'runtime.approvals',
    about: 'Calls that wait for a person.',
    interfaces: [['src/core/runs/approvals.ts', 'Approvals']],
    verbs: 'approvals',
  },
  {
    title: 'runtime.agents',
    about: 'The agents that this runtime was given.',
    interfaces: [['src/core/runtime/agents.ts', 'Agents']],
    verbs: 'agents',
  },
  {
    title: 'runtime.members',
    about: 'The users of the workspace.',
    interfaces: [['src/core/access/members.ts', 'Members']],
    verbs: 'members',
  },
  {
    title: 'runtime.keys',
    about: 'What members show to a server.',
    interfaces: [['src/core/access/keys.ts', 'Keys']],
    verbs: 'keys',
  },
  {
    title: 'runtime.vault',
    about: 'Credentials that tools are given and models are not: [the vault](../vault.md).',
    interfaces: [['src/core/vault/vault.ts', 'Vault']],
    verbs: 'vault',
  },
  {
    title: 'runtime.webhooks',
    about: 'Addresses that are told what happens: [webhooks](../webhooks.md).',
    interfaces: [['src/core/webhooks/webhooks.ts', 'Webhooks']],
    verbs: 'webhooks',
  },
  {
    title: 'runtime.audit',
    about: 'Who used which privileged verb, and how it ended.',
    interfaces: [['src/core/access/audit.ts', 'Audit']],
    verbs: 'audit',
  },
  {
    title: 'runtime.workspaces',
    about: 'The tenants of the store. Of the runtime itself: a member has none of it.',
    interfaces: [['src/core/access/workspaces.ts', 'Workspaces']],
  },
  {
    title: 'worker',
    about:
      'From [`runtime.worker(options)`](configuration.md#runtimeworker). `session.send` only stores what is to be done: without a worker, in this process or another, no run begins.',
    interfaces: [['src/core/worker/worker.ts', 'Worker']],
  },
  {
    title: 'dispatcher',
    about: 'From `runtime.dispatcher()`. It sends to webhooks.',
    interfaces: [['src/core/webhooks/dispatcher.ts', 'Dispatcher']],
  },
];

const entries: Readonly<Record<string, object>> = {
  perdure: library,
  'perdure/tools': tools,
  'perdure/client': client,
  'perdure/server': server,
  'perdure/postgres': postgres,
  'perdure/observe': observe,
};

const handleAt = new Map(handles.map((handle) => [handle.title, handle]));

/** Where the role alone does not decide, whom else it takes. */
const roleOf = (verbs: keyof typeof permissions | undefined, name: string): string => {
  const known: Readonly<Record<string, Permission>> = verbs ? permissions[verbs] : {};
  const { role = '', whom } = known[name] ?? {};
  return whom ? `${whom}; at least ${role}` : role;
};

/** Where the types of a signature are told. */
const typesOf = (signature: string): string => {
  const names = [...new Set(signature.match(/\b[A-Z]\w+/g))].filter((name) => toldTypes.has(name));
  return names.length > 0 ? ` See ${names.map((name) => `[${code(name)}](${toldTypes.get(name)})`).join(', ')}.` : '';
};

const row = ({ title, verbs }: Handle, { name, signature, isMethod, about }: HandleMember): readonly string[] => {
  const handle = handleAt.get(`${title}.${name}`);
  if (handle) return [linkTo(handle.title, code(name)), handle.about, ''];
  return [code(signature), `${about}${typesOf(signature)}`, isMethod ? roleOf(verbs, name) : ''];
};

/** What a runtime has of its own stands first, and takes the place of what a member has by the same name. */
const membersOf = ({ interfaces }: Handle): readonly HandleMember[] => {
  const all = interfaces.flatMap(([file, name]) => readHandle(readFileSync(file, 'utf8'), name));
  return all.filter(({ name }, at) => all.findIndex((each) => each.name === name) === at);
};

const tableOf = (handle: Handle, members: readonly HandleMember[]): readonly string[] => {
  const rows = members.map((member) => row(handle, member)).filter(([, about]) => about !== '');
  const heads = ['', 'What it does', ...(handle.verbs ? ['Least role'] : [])];
  return table(
    heads,
    rows.map((cells) => cells.slice(0, heads.length)),
  );
};

const section = (handle: Handle): readonly string[] => {
  const topics = Map.groupBy(membersOf(handle), ({ topic }) => topic);
  const parts = [...topics].flatMap(([topic, members]) => [
    ...(topic === undefined ? [] : [`### ${topic}`, '']),
    ...tableOf(handle, members),
    '',
  ]);
  return [`## ${handle.title}`, '', handle.about, '', ...parts.slice(0, -1)];
};

export const libraryPage: Page = {
  path: 'docs/reference/library.md',
  render: () =>
    markdownPage(
      'Library',
      'Every handle that a program is given, and what each can do. Types have the names that the sources give them; an editor shows what they hold. What `defineAgent`, `defineTool` and the methods that are used most take is in [agents, tools and options](definitions.md). [Embed it](../guides/embed.md) shows the handles at work. `perdure/client` gives the same verbs over HTTP, but for what needs the process or the machine of the store.',
      `On this page: ${handles.map(({ title }) => linkTo(title, code(title))).join(', ')}.`,
      '## What is exported',
      table(
        ['From', 'Functions, classes and values'],
        Object.entries(entries).map(([name, exported]) => [
          code(name),
          Object.keys(exported).sort().map(code).join(', '),
        ]),
      ),
      '`perdure/testing` has `describeStoreContract`, the tests that every store must pass.',
      ...handles.map(section),
    ),
};
