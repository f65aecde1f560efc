import { spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { commandGroups, commands } from '../../src/cli/dispatch/registry.ts';
import { startCommandsHere } from '../support/docs/commands-here.ts';
import { makeExampleFolder, openExampleSession, type Perdure, perdureIn } from '../support/docs/example-stage.ts';
import { runShell } from '../support/docs/run-shell.ts';
import { createDatabase, type TestDatabase } from '../support/postgres/postgres.ts';
import { freePort } from '../support/servers/free-port.ts';
import { startReceiver } from '../support/servers/webhook-receiver.ts';

vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 }); // shells, perhaps on a busy machine

interface Stage {
  readonly perdure: Perdure;
  /** Opens a session for an example, so that no two examples share one. */
  readonly newSession: () => Promise<string>;
}

/** The real ids that replace `ses_…` and the like. */
type Ids = Readonly<Record<string, string>>;

const waitingRun = async ({ perdure, newSession }: Stage, text: string): Promise<Ids> => {
  const ses = await newSession();
  await perdure('send', ses, text);
  const [{ approvals, questions }] = (await perdure('approvals', ses)).sessions;
  return { ses, apr: approvals[0]?.approval, call: questions[0]?.callId };
};

const sentWebhook = async ({ perdure }: Stage): Promise<Ids> => {
  const { url } = await startReceiver();
  const { webhook } = await perdure('webhooks', 'add', url);
  return { whk: webhook.id, dlv: (await perdure('webhooks', 'test', webhook.id)).id };
};

const makers: Readonly<Record<string, (stage: Stage) => Promise<Ids>>> = {
  ses: async ({ newSession }) => ({ ses: await newSession() }),
  apr: (stage) => waitingRun(stage, 'delete it'),
  call: (stage) => waitingRun(stage, 'ask me'),
  whk: sentWebhook,
  dlv: sentWebhook,
  key: async ({ perdure }) => ({ key: (await perdure('keys', 'create')).key.id }),
};

/**
 * Commands to run before an example, unless an earlier command on the page has had the same effect. SES is the
 * session of the example.
 */
const before: Readonly<Record<string, readonly string[]>> = {
  resume: ['pause SES'],
  reopen: ['close SES'],
  archive: ['close SES'],
  unarchive: ['close SES', 'archive SES'],
  'keys create': ['members add ann', 'members add ci'],
  import: ['export SES -o work.perdure --force'],
  verify: ['export SES -o work.perdure --force'],
};

/** Replaces the ids, the database and the port that an example names with real ones. */
const filledIn = async (example: string, calls: readonly string[], stage: Stage): Promise<string> => {
  let ids: Ids = {};
  for (const [, kind = ''] of example.matchAll(/\b([a-z]+)_…/g)) ids = { ...ids, ...(await makers[kind]?.(stage)) };
  for (const call of calls) {
    await stage.perdure(...call.replace('SES', ids.ses ?? (await stage.newSession())).split(' '));
  }
  const port = await freePort();
  let script = example.replace('postgres://…', database.url).replace(/(?<=--(?:port|health) )\d+/, String(port));
  for (const [kind, id] of Object.entries(ids)) script = script.replace(`${kind}_…`, id);
  return script.includes('ses_…') ? script.replace('ses_…', await stage.newSession()) : script;
};

const needs = (example: string): boolean => example.includes('  # needs ');
const runsOn = (example: string): boolean => example.endsWith('  # until Ctrl-C');
const beginnings = { bash: 'set -eo pipefail', zsh: 'autoload -U compinit && compinit -u -D', fish: 'true' };
const shellFor = (example: string): keyof typeof beginnings =>
  example.includes('completion zsh') ? 'zsh' : example.includes('completion fish') ? 'fish' : 'bash';
/** Whether the shell is installed. A machine may lack zsh and fish. */
const isHere = (shell: string): boolean => shell === 'bash' || spawnSync(shell, ['--version']).status === 0;

let root: string;
let database: TestDatabase;
let answering: Awaited<ReturnType<typeof startCommandsHere>>;
const cwd = process.cwd();
const own = { ...process.env };
beforeAll(async () => {
  root = mkdtempSync(join(tmpdir(), 'perdure-examples-'));
  makeExampleFolder(join(root, 'folder'));
  database = await createDatabase();
  answering = await startCommandsHere(join(root, 'socket'));
});
afterAll(async () => {
  await answering.stop();
  process.chdir(cwd);
  process.env = own;
  rmSync(root, { recursive: true, force: true });
  await database.drop();
});

test('[DOC4] examples that are not executed say why, and no others are left out', () => {
  expect(commands.flatMap(({ examples }) => examples.filter(needs))).toEqual([
    'perdure chat --git https://example.org/app.git  # needs that repository',
    'perdure demo  # needs a minute',
    'perdure demo --in my-demo  # needs a minute',
    'perdure demo --json  # needs a minute',
    'perdure replay ses_… 3 --model openai/NAME --json  # needs OPENAI_API_KEY',
    'perdure setup  # needs a person at a terminal',
  ]);
});

describe.each(commandGroups)('[DOC4] every example runs: $name', ({ name: group, commands: its }) => {
  const envOf = () => ({
    PERDURE_STORE: `sqlite:${join(root, group, 'perdure.db')}`,
    PERDURE_OUTBOUND_ALLOW_PRIVATE: '1',
  });
  let session: string;
  beforeAll(async () => {
    session = await openExampleSession(perdureIn(join(root, 'folder'), envOf(), answering));
  });

  test.each(its.filter(({ examples }) => !examples.every(needs)))('$name', async ({ name, examples }) => {
    const folder = join(root, group, name);
    cpSync(join(root, 'folder'), folder, { recursive: true });
    const perdure = perdureIn(folder, envOf(), answering);
    const stage = { perdure, newSession: async () => (await perdure('fork', session)).id };
    for (const [index, example] of examples.filter((each) => !needs(each) && isHere(shellFor(each))).entries()) {
      const shell = shellFor(example);
      const script = await filledIn(example, (index === 0 && before[name]) || [], stage);
      const { code, output } = await runShell(shell, `${beginnings[shell]}; ${script}`, {
        cwd: folder,
        socket: join(root, 'socket'),
        stdin: 'hello there\n',
        env: { ...envOf(), SHELL: `/bin/${shell}`, ...(runsOn(example) && { PERDURE_TEST_CTRL_C: '1' }) },
      });
      expect(code, `${script}\n${output}`).toBe(0);
    }
  });
});
