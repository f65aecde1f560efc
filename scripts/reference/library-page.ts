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
  /** The name that programs use for the handle. */
  readonly title: string;
  readonly about: string;
  /** The interfaces of the handle, each with its file. */
  readonly interfaces: readonly (readonly [file: string, name: string])[];
  /** The key of its verbs in the table of permissions. */
  readonly verbs?: keyof typeof permissions;
}

const handles: readonly Handle[] = [
  {
    title: 'runtime',
    about:
      'From [`openRuntime(options)`](configuration.md#openruntime). `runtime.as(identity)` returns the same handles for a member of a workspace, limited by its role.',
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
    about: 'From `runtime.sessions.open` and `get`, and from `session.fork`. A handle holds no resource.',
    interfaces: [['src/core/runtime/session.ts', 'Session']],
    verbs: 'session',
  },
  {
    title: 'session.files',
    about: 'The files of the session, read from the store. No worktree is needed.',
    interfaces: [['src/core/session-files/session-files.ts', 'SessionFiles']],
    verbs: 'files',
  },
  {
    title: 'session.artifacts',
    about: 'Files and values stored by name for people.',
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
    about: 'The agents that were passed to this runtime.',
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
    title: 'runtime.quotas',
    about: 'What members of the workspace may use.',
    interfaces: [['src/core/access/quotas.ts', 'Quotas']],
    verbs: 'quotas',
  },
  {
    title: 'runtime.keys',
    about: 'The API keys that members present to a server.',
    interfaces: [['src/core/access/keys.ts', 'Keys']],
    verbs: 'keys',
  },
  {
    title: 'runtime.vault',
    about: 'Credentials that only tools receive, and models do not: [the vault](../vault.md).',
    interfaces: [['src/core/vault/vault.ts', 'Vault']],
    verbs: 'vault',
  },
  {
    title: 'runtime.webhooks',
    about: 'Addresses that are notified of events: [webhooks](../webhooks.md).',
    interfaces: [['src/core/webhooks/webhooks.ts', 'Webhooks']],
    verbs: 'webhooks',
  },
  {
    title: 'runtime.audit',
    about: 'The list of all uses of privileged verbs: by whom, and how each ended.',
    interfaces: [['src/core/access/audit.ts', 'Audit']],
    verbs: 'audit',
  },
  {
    title: 'runtime.workspaces',
    about: 'The tenants of the store. Only the runtime itself has this handle, not a member.',
    interfaces: [['src/core/access/workspaces.ts', 'Workspaces']],
  },
  {
    title: 'worker',
    about:
      'From [`runtime.worker(options)`](configuration.md#runtimeworker). A runtime with agents starts one by itself; a program that serves others starts its own.',
    interfaces: [['src/core/worker/worker.ts', 'Worker']],
  },
  {
    title: 'dispatcher',
    about: 'From `runtime.dispatcher()`. It creates and sends webhook deliveries.',
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

/** The minimum role, and who else may call the verb where the role alone does not decide. */
const roleOf = (verbs: keyof typeof permissions | undefined, name: string): string => {
  const known: Readonly<Record<string, Permission>> = verbs ? permissions[verbs] : {};
  const { role = '', whom } = known[name] ?? {};
  return whom ? `${whom}; at least ${role}` : role;
};

/** Links to the types of a signature. */
const typesOf = (signature: string): string => {
  const names = [...new Set(signature.match(/\b[A-Z]\w+/g))].filter((name) => toldTypes.has(name));
  return names.length > 0 ? ` See ${names.map((name) => `[${code(name)}](${toldTypes.get(name)})`).join(', ')}.` : '';
};

const row = ({ title, verbs }: Handle, { name, signature, isMethod, about }: HandleMember): readonly string[] => {
  const handle = handleAt.get(`${title}.${name}`);
  if (handle) return [linkTo(handle.title, code(name)), handle.about, ''];
  return [code(signature), `${about}${typesOf(signature)}`, isMethod ? roleOf(verbs, name) : ''];
};

/**
 * The members of a handle. Members of the runtime are listed first, and replace inherited members of the same name.
 */
const membersOf = ({ interfaces }: Handle): readonly HandleMember[] => {
  const all = interfaces.flatMap(([file, name]) => readHandle(readFileSync(file, 'utf8'), name));
  return all.filter(({ name }, at) => all.findIndex((each) => each.name === name) === at);
};

const tableOf = (handle: Handle, members: readonly HandleMember[]): readonly string[] => {
  const rows = members.map((member) => row(handle, member)).filter(([, about]) => about !== '');
  const heads = ['', 'What it does', ...(handle.verbs ? ['Minimum role'] : [])];
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
      'Every handle of the library, with its methods. Types have the same names as in the source, so an editor can show their fields. [Agents, tools and options](definitions.md) lists the options of `defineAgent`, `defineTool` and the most used methods. [Embed it](../guides/embed.md) shows the handles in use. `perdure/client` has the same verbs over HTTP, except those that need the process or the machine of the store.',
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
