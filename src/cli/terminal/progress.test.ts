import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { withNotice, withProgress } from './progress.ts';
import type { Terminal } from './terminal.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const recorder = (isTerminal: boolean) => {
  const written: string[] = [];
  const terminal: Terminal = {
    isTerminal,
    columns: 80,
    patienceMs: isTerminal ? 1000 : undefined,
    write: async (output) => void written.push(String(output)),
    style: (_, text) => text,
  };
  return { written, terminal };
};

const lasting = (ms: number) => () => new Promise<string>((resolve) => setTimeout(() => resolve('done'), ms));

test('[CLI12] work that takes longer than a second shows progress on a terminal and then removes it', async () => {
  const { written, terminal } = recorder(true);
  const working = withProgress(terminal, () => 'busy', lasting(2500));
  await vi.advanceTimersByTimeAsync(900);
  expect(written).toEqual([]);
  await vi.advanceTimersByTimeAsync(1300);
  expect(written.at(-1)).toContain('busy, 2 s');
  await vi.advanceTimersByTimeAsync(400);
  expect(await working).toBe('done');
  expect(written.slice(-2)).toEqual([`\r${' '.repeat('busy, 2 s'.length)}`, '\r']);
  expect(vi.getTimerCount()).toBe(0);
});

test('[CLI12, CLI25] quick work and work in a pipe show no progress, and a failure is passed on', async () => {
  const [quick, piped] = [recorder(true), recorder(false)];
  const working = [
    withProgress(quick.terminal, () => 'busy', lasting(900)),
    withProgress(piped.terminal, () => 'busy', lasting(5000)),
  ];
  await vi.advanceTimersByTimeAsync(5000);
  expect(await Promise.all(working)).toEqual(['done', 'done']);
  expect([...quick.written, ...piped.written]).toEqual([]);
  await expect(
    withProgress(
      quick.terminal,
      () => 'busy',
      () => Promise.reject(new Error('no')),
    ),
  ).rejects.toThrow('no');
});

test('[CLI25] in a pipe, work that may hang shows one notice after ten seconds', async () => {
  const [terminal, quick, piped] = [recorder(true), recorder(false), recorder(false)];
  const working = [
    withNotice(terminal.terminal, 'loading a.ts', lasting(30_000)),
    withNotice(quick.terminal, 'loading a.ts', lasting(9000)),
    withNotice(piped.terminal, 'loading a.ts', lasting(30_000)),
  ];
  await vi.advanceTimersByTimeAsync(30_000);
  expect(await Promise.all(working)).toEqual(['done', 'done', 'done']);
  expect([terminal.written, quick.written, piped.written]).toEqual([[], [], ['loading a.ts takes longer than 10 s\n']]);
});
