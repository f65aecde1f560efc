import { expect, test } from 'vitest';
import { callCli } from '../../../test/support/cli/call-cli.ts';
import { openRuntime } from '../../runtime.ts';
import { newMemoryDatabase } from '../../testing/memory-database.ts';
import { openMemoryStore } from '../../testing/memory-store.ts';
import { displayWidth } from '../terminal/display-width.ts';

const start = async () => {
  const database = newMemoryDatabase();
  const runtime = await openRuntime({ store: openMemoryStore(database), worker: false });
  const cli = (...argv: readonly string[]) =>
    callCli([...argv, '--store', 'memory'], { openRuntime: () => openRuntime({ store: openMemoryStore(database) }) });
  return { runtime, cli };
};

test('[STWAIT2] state shows what the session waits for, safely and within 80 columns', async () => {
  const { runtime, cli } = await start();
  const session = await runtime.sessions.open();
  expect((await cli('state', session.id, '--path', '/waiting')).out).toBe('the session waits for nothing\n');
  await session.beginCall({ tool: 'crawl', input: { url: `\u001b[31m\u202e${'x'.repeat(300)}` } });
  await session.handoff({ to: { role: 'approver' }, reason: 'look\u001b]0;title\u0007 at this' });
  for (const { out } of [await cli('state', session.id), await cli('state', session.id, '--path', '/waiting')]) {
    const text = out.replaceAll(/\s+/g, ' ');
    expect(text).toMatch(/waiting call \w+: crawl \{"url":/);
    expect(text).toMatch(/handoff \d+: look.* for role:approver, role:admin/);
    for (const hidden of ['\u0007', '\u202e', '\u001b]']) expect(out).not.toContain(hidden);
    for (const line of out.split('\n')) {
      expect(displayWidth(line), line).toBeLessThanOrEqual(80);
    }
  }
  const { out: json } = await cli('state', session.id, '--json');
  expect(JSON.parse(json).waiting).toEqual((await session.state()).waiting);
});

test('[CARRY2] open --carry-files takes the files, and needs --carry-from', async () => {
  const { runtime, cli } = await start();
  const session = await runtime.sessions.open();
  await session.files.write('a.txt', 'one');
  const { out } = await cli('open', '--carry-from', session.id, '--carry-files');
  const next = await runtime.sessions.get(out.trim());
  expect((await next.files.list()).map(({ path }) => path)).toEqual(['a.txt']);
  for (const argv of [['--carry-files'], ['--carry-from', session.id, '--carry-files', '--from', '.']]) {
    expect(await cli('open', ...argv)).toMatchObject({ code: 2, err: expect.stringContaining('--carry-files') });
  }
});
