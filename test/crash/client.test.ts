import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { expect, onTestFinished, test } from 'vitest';
import { connect } from '../../src/client/index.ts';
import { startPerdure } from '../support/cli/perdure-command.ts';
import { freePort } from '../support/servers/free-port.ts';

/** `perdure serve` in a process of its own, which can be killed and started again at the same address. */
const serveApart = async () => {
  const cwd = await mkdtemp(join(tmpdir(), 'perdure-client-'));
  const port = await freePort();
  const start = async () => {
    const child = startPerdure(['serve', '--port', String(port), '--json'], { cwd });
    const [line] = await once(createInterface({ input: child.stdout }), 'line');
    return { child, told: JSON.parse(String(line)) as { readonly url: string; readonly key?: string } };
  };
  let { child, told } = await start();
  const kill = async (): Promise<void> => {
    const ended = once(child, 'close');
    child.kill('SIGKILL');
    await ended;
  };
  onTestFinished(async () => {
    await kill();
    await rm(cwd, { recursive: true, force: true });
  });
  return {
    client: connect({ url: told.url, key: told.key! }),
    restart: async (): Promise<void> => {
      await kill();
      ({ child, told } = await start());
    },
  };
};

test('[CLIENT4] a server is killed in the middle of streams and started again: readers see every event once and in order', async () => {
  const { client, restart } = await serveApart();
  const session = await client.sessions.open({ agent: 'demo' });
  const leaving = new AbortController();
  const hinted: string[] = [];
  const watching = (async () => {
    for await (const change of client.changes({ signal: leaving.signal })) hinted.push(change.session);
  })();
  const run = await session.send('tour');
  const result = run.result();
  const ended = run.waitForEnd();
  const seen: number[] = [];
  let restarted: Promise<void> | undefined;
  for await (const { seq, type } of session.events({ after: 0, follow: true })) {
    seen.push(seq);
    if (type === 'tool.called') restarted ??= restart();
    if (type === 'run.ended') break;
  }
  await restarted;
  expect(seen).toEqual(seen.map((_, index) => index + 1));
  expect(await result).toMatchObject({ run: run.id, status: 'succeeded' });
  expect(await ended).toEqual(await result);
  const ofRun = await Array.fromAsync(run.events());
  expect(ofRun.at(-1)).toMatchObject({ type: 'run.ended' });

  const idle = session.events({ after: seen.length, follow: true });
  const next = idle.next();
  await restart();
  await session.update({ title: 'after' });
  expect((await next).value).toMatchObject({ seq: seen.length + 1 });
  await idle.return();
  const { id } = await client.sessions.open();
  await expect.poll(() => hinted, { timeout: 20_000 }).toContain(id);
  leaving.abort();
  await watching;
  expect((await client.sessions.list()).sessions.map((each) => each.id).toSorted()).toEqual(
    [session.id, id].toSorted(),
  );
}, 120_000);
