import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { moduleUrl, runScript } from '../../../test/support/cli/run-script.ts';
import { withUnfinished } from './unfinished-files.ts';

const newFile = (): string => {
  const folder = mkdtempSync(join(tmpdir(), 'perdure-unfinished-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  return join(folder, 'part');
};

test.each(['SIGINT', 'SIGTERM', 'SIGHUP'] as const)(
  '[ST17] %s ends the process as usual, and the unfinished file is removed',
  async (signal) => {
    const file = newFile();
    const script = runScript(`
      import { writeFileSync } from 'node:fs';
      import { withUnfinished } from ${moduleUrl('src/core/host/unfinished-files.ts')};
      setInterval(() => {}, 1000);
      await withUnfinished([${JSON.stringify(file)}], async () => {
        writeFileSync(${JSON.stringify(file)}, 'half');
        console.log('written');
        await new Promise(() => {});
      });`);
    expect(await script.line()).toBe('written');
    expect(existsSync(file)).toBe(true);
    process.kill(script.pid, signal);
    expect(await script.ended).toMatchObject({ code: null });
    expect(existsSync(file)).toBe(false);
  },
);

test('[ST17] a failure removes the unfinished file; success keeps it and removes the signal handlers', async () => {
  const file = newFile();
  const write = async () => writeFileSync(file, 'whole');
  const failing = withUnfinished([file], async () => {
    await write();
    throw new Error('no room');
  });
  await expect(failing).rejects.toThrow('no room');
  expect(existsSync(file)).toBe(false);
  const listeners = process.listenerCount('SIGINT');
  await withUnfinished([file], write);
  expect(existsSync(file)).toBe(true);
  expect(process.listenerCount('SIGINT')).toBe(listeners);
});
