import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterEach, expect, test } from 'vitest';

const run = promisify(execFile);
const program = fileURLToPath(new URL('./sync-appender.ts', import.meta.url));
const hasStrace = process.platform === 'linux'; // strace exists only on Linux
const folders: string[] = [];
afterEach(async () => {
  for (const folder of folders.splice(0)) await rm(folder, { recursive: true });
});

interface SystemCall {
  readonly name: string;
  readonly text: string;
  readonly startedAt: number;
  readonly endedAt: number;
}

/** strace splits an interleaved call into two lines: `<unfinished ...>` and `<... name resumed>`. */
const callsOf = (trace: string): readonly SystemCall[] => {
  const begun = new Map<string, { text: string; startedAt: number }>();
  return trace.split('\n').flatMap((line, index): SystemCall[] => {
    const [, thread, text] = /^(\d+) +(.*)$/.exec(line) ?? [];
    if (thread === undefined || text === undefined) return [];
    if (text.endsWith('<unfinished ...>')) {
      begun.set(thread, { text, startedAt: index });
      return [];
    }
    const { text: beginning, startedAt } = text.startsWith('<...')
      ? begun.get(thread)!
      : { text: '', startedAt: index };
    const whole = beginning + text;
    const name = /^(\w+)\(/.exec(whole)?.[1];
    return name === undefined ? [] : [{ name, text: whole, startedAt, endedAt: index }];
  });
};

const traceAppends = async (rounds: number): Promise<readonly SystemCall[]> => {
  const folder = await mkdtemp(join(tmpdir(), 'perdure-syncs-'));
  folders.push(folder);
  const trace = join(folder, 'trace');
  const traced = ['-f', '-y', '-s', '32', '-e', 'trace=write,pwrite64,fsync,fdatasync', '-o', trace];
  const appending = [process.execPath, program, `sqlite:${join(folder, 'perdure.db')}`, `${rounds}`];
  await run('strace', [...traced, ...appending]).catch((error) => {
    if (error.code !== 'ENOENT') throw error;
    throw new Error('strace is needed to see the disk syncs, and is not here: apt-get install strace', {
      cause: error,
    });
  });
  return callsOf(await readFile(trace, 'utf8'));
};

test.skipIf(!hasStrace)('[LOG8] SQLite syncs its write-ahead log before every acknowledgement', async () => {
  const rounds = 60;
  const calls = await traceAppends(rounds);
  const ofLog = calls.filter(({ text }) => /\.db-wal>/.test(text));
  const syncs = ofLog.filter(({ name, text }) => name.includes('sync') && text.endsWith(' = 0'));
  const writes = ofLog.filter(({ name }) => name.includes('write'));
  const acknowledged = calls.filter(({ text }) => text.includes('"acknowledged')).map(({ startedAt }) => startedAt);
  expect(acknowledged).toHaveLength(rounds + 1);
  for (const [index, after] of acknowledged.slice(0, -1).entries()) {
    const before = acknowledged[index + 1]!;
    const lastWrite = writes.findLast(({ startedAt }) => startedAt < before)!;
    expect(lastWrite.startedAt).toBeGreaterThan(after);
    expect(syncs.some(({ startedAt, endedAt }) => startedAt > lastWrite.endedAt && endedAt < before)).toBe(true);
  }
});
