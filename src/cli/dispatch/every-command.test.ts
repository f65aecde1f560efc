import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough, Readable } from 'node:stream';
import { expect, onTestFinished, test, vi } from 'vitest';
import { z } from 'zod';
import { callCli } from '../../../test/support/cli/call-cli.ts';
import { startReceiver } from '../../../test/support/servers/webhook-receiver.ts';
import { openRuntime } from '../../runtime.ts';
import { newMemoryDatabase } from '../../testing/memory-database.ts';
import { openMemoryStore } from '../../testing/memory-store.ts';
import { complete } from '../completion/complete.ts';
import { demoAgent } from '../config/demo-agent.ts';
import type { Interrupt } from '../parse/command.ts';
import { backingOptionsOf } from '../parse/common-options.ts';
import type { World } from '../parse/world.ts';
import { personAt } from '../runs/person.ts';
import { parseCall, type RunCall } from './parse-call.ts';
import { commands } from './registry.ts';

/** `demo` starts processes, and `doctor` looks at a real store: other tests cover both. */
const notDriven = ['demo', 'doctor'];

const newFolder = async (): Promise<string> => {
  const folder = await mkdtemp(join(tmpdir(), 'perdure-every-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  return folder;
};

const typed = (text: string): Partial<World> => ({
  stdin: async function* () {
    yield Buffer.from(text);
  },
});

const lines = (...text: readonly string[]): Partial<World> => ({
  person: () => personAt(Readable.from(text.map((line) => `${line}\n`)), new PassThrough() as never),
});

/** Sends Ctrl-C as soon as a command listens for it. */
const interruptAtOnce: Partial<World> = {
  onInterrupt: (listener: (interrupt: Interrupt) => void) => {
    const timer = setTimeout(() => listener('interrupt'));
    return () => clearTimeout(timer);
  },
};

/**
 * A command line on a store in memory, with an agent that answers without pauses. Records which commands were called.
 */
const commandLine = () => {
  const database = newMemoryDatabase();
  const asked = new Set<string>();
  const open = () =>
    openRuntime({
      agents: [demoAgent],
      worker: false,
      store: openMemoryStore(database),
      outbound: { allowPrivate: true },
    });
  const json = async (argv: readonly string[], world: Partial<World> = {}) => {
    const { command } = parseCall(argv) as RunCall;
    asked.add(command.name);
    const call = [...argv, '--json', ...(backingOptionsOf(command).includes('store') ? ['--store', 'memory'] : [])];
    const answer = await callCli(call, { openRuntime: open, startDetached: () => {}, ...world });
    expect(answer, argv.join(' ')).toMatchObject({ code: 0, err: '' });
    return answer.out
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
  };
  return { json, asked, open };
};

const isList = (schema: z.ZodType): boolean =>
  schema instanceof z.ZodArray || (schema instanceof z.ZodUnion && (schema.options as z.ZodType[]).some(isList));

test('[CLI6] no command answers with a bare list, which could not be extended', () => {
  const bare = [...commands, complete].filter(({ json, jsonLines }) => !jsonLines && isList(json));
  expect(bare.map(({ name }) => name)).toEqual([]);
});

// callCli checks every answer against the JSON shape of its command.
test('[CLI6] every command writes JSON of its declared shape', async () => {
  const { json, asked, open } = commandLine();
  const folder = await newFolder();
  vi.stubEnv('PERDURE_MASTER_KEY_FILE', join(folder, 'master.key'));
  onTestFinished(() => void vi.unstubAllEnvs());
  const file = join(folder, 'main.ts');
  await writeFile(file, 'export {};\n');

  const [{ id }] = await json(['open', '--title', 'All', '--agent', 'demo']);
  await json(['send', id, 'hello']);
  await json(['attach', id]);
  await json(['chat', id], lines('hello', 'once more'));
  await json(['send', id, 'hello again', '--detach']);
  await json(['cancel', id]);
  const [{ id: loop }] = await json(['open']);
  await json(['title', loop, 'A loop']);
  await json(['share', loop, '--visibility', 'private']);
  await json(['append', loop, 'Which port?']);
  await json(['append', loop, '--role', 'assistant', '8080.']);
  await json(['commit', loop, '--fact', 'port=8080']);
  await json(['pin', loop, 'port']);
  await json(['taint', loop]);
  await json(['taint', 'clear', loop, '--why', 'checked']);
  await json(['lift', loop, '/facts/port', '--to', 'verified', '--why', 'checked']);
  const [{ id: carried }] = await json(['open', '--carry-from', loop]);
  await json(['bind', carried, 'demo']);
  const [{ seq }] = await json(['commit', loop, '--fact', 'host=here']);
  await json(['revert', loop, String(seq)]);
  await json(['state', loop]);
  await json(['log', loop]);
  await json(['log', '--all', '--commits']);
  await json(['show', id]);
  await json(['ls']);
  await json(['usage', id]);
  await json(['usage']);
  await json(['calls', id, '--input']);
  await json(['runs', id]);
  await json(['runs']);
  await json(['context', id]);
  await json(['agents']);
  await json(['limit', id, '--turns', '100']);
  await json(['handoff', id, '--to', 'human']);
  await json(['approvals']);
  await json(['handoff', id, '--role', 'approver', '--reason', 'above the limit']);
  await json(['handoff', id, '--to', 'agent']);
  await json(['diff', loop, '0', '1']);
  await json(['files', 'put', loop, 'src/main.ts', file]);
  await json(['files', 'ls', loop]);
  await json(['files', 'cat', loop, 'src/main.ts']);
  await json(['files', 'diff', loop, '0']);
  await json(['files', 'history', loop, 'src/main.ts']);
  await json(['trace', loop, 'src/main.ts']);
  await json(['files', 'get', loop, '--to', join(folder, 'copy')]);
  await json(['files', 'restore', loop, '0']);
  await json(['artifacts', loop, '--keep', file]);
  await json(['artifacts', loop]);
  await json(['artifacts', loop, 'main.ts']);
  await json(['artifacts', loop, 'main.ts', '-o', join(folder, 'kept.ts')]);
  const [{ id: fork }] = await json(['fork', loop, '--at', '1']);
  await json(['commit', fork, '--fact', 'way=other']);
  await json(['compare', loop, fork]);
  await json(['adopt', loop, fork]);
  await json(['tree', loop]);
  await json(['replay', id, '1']);
  await json(['append', loop, 'And which host?']);
  await json(['compact', loop, '--keep', '1']);
  await json(['recall', loop, 'turn:1']);
  await json(['happened', loop]);
  await json(['happened', loop, '--after', '0']);
  await json(['rewind', loop, '--to', '1', '--dry-run']);
  await json(['rewind', loop, '--to', '1']);
  await json(['retry', loop, '1']);
  for (const move of ['pause', 'resume', 'close', 'archive', 'unarchive', 'reopen']) await json([move, loop]);
  await json(['verify', '--all']);
  await json(['export', loop, '-o', join(folder, 'loop.perdure')]);
  await json(['import', join(folder, 'loop.perdure')]);
  await json(['repair', '--projections']);
  await json(['gc', '--dry-run']);
  const onFile = ['--json', '--store', `sqlite:${join(folder, 'own.db')}`];
  for (const call of [['open'], ['backup', join(folder, 'copy.db')]]) {
    expect(await callCli([...call, ...onFile])).toMatchObject({ code: 0 });
    asked.add(call[0]!);
  }

  const runtime = await open();
  for (const text of ['delete it', 'delete it', 'ask me']) {
    const session = await runtime.sessions.open({ agent: demoAgent });
    await session.send(text);
  }
  await runtime.worker().runUntilIdle();
  await runtime.close();
  const [{ sessions: waiting }] = await json(['approvals']);
  const [first, second] = waiting.flatMap(({ approvals }: { approvals: { approval: string }[] }) => approvals);
  await json(['approve', first.approval]);
  await json(['deny', second.approval, '--comment', 'not now']);
  const { session, questions } = waiting.find((each: { questions: unknown[] }) => each.questions.length > 0);
  await json(['answer', session, questions[0].callId, 'Red']);
  await json(['worker', '--once', '--session', session]);
  await json(['workers']);

  await json(['setup', '--name', 'Ann']);
  await json(['members', 'add', 'ben']);
  await json(['members', 'set', 'ben', '--role', 'viewer']);
  await json(['members', 'ls']);
  await json(['quotas', 'set', 'ben', '--runs', '2']);
  await json(['quotas', 'ls']);
  await json(['quotas', 'mine']);
  await json(['quotas', 'rm', 'ben']);
  const [{ key }] = await json(['keys', 'create', 'ben']);
  await json(['keys', 'token', 'ben', '--parent', key.id]);
  await json(['keys', 'rotate', key.id]);
  await json(['keys', 'ls']);
  await json(['keys', 'revoke', key.id]);
  await json(['members', 'rm', 'ben']);
  await json(['vault', 'init']);
  await json(['vault', 'set', 'github'], typed('a secret value'));
  await json(['vault', 'ls']);
  await json(['vault', 'rotate']);
  await json(['vault', 'rotate', '--master']);
  await json(['vault', 'rm', 'github']);
  await json(['audit']);
  const receiver = await startReceiver((response) => void response.end());
  const [{ webhook }] = await json(['webhooks', 'add', receiver.url]);
  await json(['webhooks', 'set', webhook.id, '--event', 'run.ended']);
  await json(['webhooks', 'disable', webhook.id]);
  await json(['webhooks', 'enable', webhook.id]);
  await json(['webhooks', 'rotate', webhook.id]);
  await json(['webhooks', 'ls']);
  const [delivery] = await json(['webhooks', 'test', webhook.id]);
  await json(['webhooks', 'deliveries', webhook.id]);
  await json(['webhooks', 'redeliver', delivery.id]);
  await json(['webhooks', 'rm', webhook.id]);
  await json(['workspaces', 'add', 'acme']);
  await json(['workspaces', 'ls']);
  await json(['workspaces', 'quota', 'acme', '--sessions', '5']);
  for (const about of [[], ['files'], ['files', 'ls'], ['help'], ['look'], ['all'], ['exit-codes'], ['environment']])
    await json(['help', ...about]);
  await json(['completion', 'bash']);
  await json(['complete', 'sessions']);
  await json(['serve', '--port', '0', '--no-worker', '--log', 'silent'], interruptAtOnce);

  const expected = commands.map(({ name }) => name).filter((name) => !notDriven.includes(name));
  expect([...asked].sort()).toEqual([...expected, 'complete'].sort());
});
