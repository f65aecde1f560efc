import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { callCli } from '../../../../test/support/cli/call-cli.ts';
import { PerdureError } from '../../../schema/error.ts';

test.each([
  [['--concurrency', '2'], '--concurrency'],
  [['--lease', '10s', '--per-workspace', '8', '--per-agent', 'demo=2'], '--lease, --per-workspace, --per-agent'],
])('[WORKER14, WORKER21] serve --no-worker with %j is refused and creates no store', async (given, named) => {
  const { code, err } = await callCli(['serve', '--no-worker', ...given], {
    openRuntime: () => Promise.reject(new Error('a store was created')),
  });
  expect(code).toBe(2);
  expect(err.replaceAll(/\s+/g, ' ')).toContain(
    `with --no-worker there is no worker for ${named} to apply to: leave out one or the other`,
  );
});

test('[START2, CLI4] a server that cannot listen creates no store', async () => {
  const taken = createServer().listen(0, '127.0.0.1');
  await once(taken, 'listening');
  onTestFinished(() => void taken.close());
  const { port } = taken.address() as AddressInfo;
  const refused = async (...given: readonly string[]) =>
    callCli(['serve', ...given], { openRuntime: () => Promise.reject(new Error('a store was created')) });
  expect(await refused('--port', String(port))).toMatchObject({
    code: 2,
    err: expect.stringContaining(`port ${port} is in use: give another`),
  });
  expect(await refused('--host', '192.0.2.1')).toMatchObject({
    code: 2,
    err: expect.stringContaining('cannot listen at 192.0.2.1'),
  });
});

test('[OBS1] warnings of the runtime are log entries like all others, without the password of the store', async () => {
  const store = 'postgres://ann:a-password@127.0.0.1/perdure';
  const { err } = await callCli(['serve', '--port', '0', '--store', store], {
    openRuntime: async ({ onWarning }) => {
      onWarning?.(new Error(`cannot reach ${store}`));
      throw new PerdureError('STORE_UNAVAILABLE', 'it is away');
    },
  });
  const [line] = err.split('\n');
  expect(JSON.parse(line!)).toMatchObject({ level: 'warn', msg: 'cannot reach postgres://…@127.0.0.1/perdure' });
  expect(err).not.toContain('a-password');
});
