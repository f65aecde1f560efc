import { expect, onTestFinished, test } from 'vitest';
import { connect } from '../../src/client/index.ts';
import { openRuntime } from '../../src/index.ts';
import { newMemoryDatabase } from '../../src/testing/memory-database.ts';
import { openMemoryStore } from '../../src/testing/memory-store.ts';
import { callCliOn } from '../support/cli/call-cli.ts';
import { startTestServer } from '../support/servers/http-server.ts';

type World = NonNullable<Parameters<typeof callCliOn>[2]>;

/** A session of two turns. The second one refunded order A. */
const refundIn = async (runtime: Awaited<ReturnType<typeof openRuntime>>) => {
  const session = await runtime.sessions.open({ title: 'Desk' });
  await session.append({ role: 'user', content: 'hello' });
  await session.append({ role: 'assistant', content: 'hello' });
  await session.append({ role: 'user', content: 'refund A' });
  const tools = { refund: async (_: { order: string }) => 'done' };
  await (await session.track(tools, { refund: { effects: 'once' } })).refund({ order: 'A\u001b[2J' });
  await session.append({ role: 'assistant', content: 'done' });
  return session;
};

const calls = [{ tool: 'refund', effects: 'once', outcome: 'ok' }];

const commandLine = async () => {
  const database = newMemoryDatabase();
  const runtime = await openRuntime({ store: openMemoryStore(database) });
  onTestFinished(() => runtime.close());
  const { id } = await refundIn(runtime);
  const cli = (argv: readonly string[], world: World = {}) =>
    callCliOn(database, argv, { columns: Number.POSITIVE_INFINITY, ...world });
  return { id, cli, runtime };
};

/** A person at a terminal who types the given line. */
const saying = (line: string, asked: string[] = []): World => ({
  columns: 120,
  person: () =>
    ({
      isTerminal: true,
      prompt: (text: string) => void asked.push(text),
      nextLine: async () => line,
      close: () => undefined,
    }) as never,
});

test('[HAP6] on the command line, rewind lists what happened beyond the point before and after, and asks on a terminal', async () => {
  const { id, cli } = await commandLine();
  const listed =
    /already happened, and is not undone: 1 call with effects\n {2}\d{4}-.* refund \{"order":"A\\u001b\[2J"\} → ok \(ses_.*, event \d+\)\n/;
  expect((await cli(['happened', id])).out).toBe('no call with effects was left behind\n');
  expect((await cli(['happened', id, '--after', '1'])).out).toMatch(listed);
  expect((await cli(['rewind', id, '--to', '1', '--dry-run'])).out).toMatch(listed);
  const { seq } = JSON.parse((await cli(['show', id, '--json'])).out);
  const asked: string[] = [];
  const refused = await cli(['rewind', id, '--to', '1'], saying('n', asked));
  expect(refused).toMatchObject({ code: 1, out: '' });
  expect(refused.err).toContain('1 call with effects');
  expect(asked).toEqual(['go back all the same? [y / n] ']);
  expect(JSON.parse((await cli(['show', id, '--json'])).out).seq).toBe(seq);
  expect((await cli(['rewind', id, '--to', '1', '--yes'], saying('n'))).code).toBe(0);
  expect((await cli(['happened', id])).out).toMatch(listed);
  expect((await cli(['log', id])).out).toMatch(/calls\.happened .*1 beside this history after rewind: refund ok/);
});

test('[HAP6, HAP11] on the command line, fork and adopt list the calls, and retry needs --again', async () => {
  const { id, cli } = await commandLine();
  const forked = await cli(['fork', id, '--at', '1']);
  expect(forked.out).toMatch(/^ses_\w+\n$/);
  expect(forked.err).toContain('1 call with effects');
  const branch = forked.out.trim();
  expect(JSON.parse((await cli(['fork', id, '--at', '1', '--json'])).out).happened).toMatchObject({ calls, more: 0 });
  const adopted = await cli(['adopt', JSON.parse((await cli(['fork', id, '--at', '0', '--json'])).out).id, branch]);
  expect(adopted.out).toContain('there is nothing to adopt');
  const retried = await cli(['retry', id, '2']);
  expect(retried).toMatchObject({ code: 6, out: '' });
  expect(retried.err.replaceAll(/\s+/g, ' ')).toContain('turn 2 made calls that took effect or may have: refund');
  const again = await cli(['retry', id, '2', '--again', '--json']);
  expect(JSON.parse(again.out).happened).toMatchObject({ calls, more: 0 });
});

test('[HAP6, HAP11] over HTTP and in the client, the same verbs return the same calls', async () => {
  const { runtime, server, keys, json, ask } = await startTestServer();
  const { id } = await refundIn(runtime);
  const at = `/v1/sessions/${id}`;
  expect(await json(`${at}/happened`)).toEqual({ calls: [], more: 0 });
  const preview = await json(`${at}/happened?after=turn:1`);
  expect(preview).toMatchObject({ calls: [{ ...calls[0], session: id }], more: 0 });
  expect((await ask(`${at}/happened?after=soon`)).status).toBe(400);
  expect(await json(`${at}/fork`, { method: 'POST', body: { at: { turn: 1 } } })).toMatchObject({ happened: preview });
  const refused = await ask(`${at}/retry`, { method: 'POST', body: { turn: 2 } });
  expect(refused.status).toBe(409);
  expect(await refused.json()).toMatchObject({ code: 'EFFECTS_HAPPENED' });
  const session = await connect({ url: server.url, key: keys.member }).sessions.get(id);
  expect(await session.happened({ after: { turn: 1 } })).toEqual(preview);
  await expect(session.retry({ turn: 2 })).rejects.toMatchObject({ code: 'EFFECTS_HAPPENED' });
  const branch = await session.fork({ at: { turn: 1 } });
  expect(await branch.happened()).toEqual(preview);
  expect((await session.rewind({ to: { turn: 1 } })).happened).toEqual(preview);
  expect(await session.happened()).toEqual(preview);
  const viewer = await connect({ url: server.url, key: keys.viewer }).sessions.get(id);
  expect(await viewer.happened()).toEqual(preview);
});
