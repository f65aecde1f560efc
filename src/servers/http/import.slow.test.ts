import { expect, test, vi } from 'vitest';
import { startTestServer, type TestServer } from '../../../test/support/servers/http-server.ts';
import { bundleBomb } from '../../../test/support/stores/bundle-bomb.ts';
import { madeBlob, madeBundle } from '../../../test/support/stores/made-bundle.ts';
import { importBundle } from '../../core/bundles/import-bundle.ts';

vi.mock(import('../../core/bundles/import-bundle.ts'), async (original) => {
  const module = await original();
  return { ...module, importBundle: vi.fn(module.importBundle) };
});

const importInto = ({ server, keys }: TestServer, body: unknown, key = keys.admin): Promise<Response> =>
  fetch(`${server.url}/v1/import`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/octet-stream' },
    body,
    duplex: 'half',
  } as RequestInit);

const codeOf = async (importing: Promise<Response>): Promise<string | undefined> =>
  ((await (await importing).json()) as { code?: string }).code;

/** Waits until the import has begun: its entry is then in the audit log. */
const begun = ({ json }: TestServer): Promise<void> =>
  expect
    .poll(async () => (await json('/v1/audit')).entries.map(({ verb }: { verb: string }) => verb))
    .toContain('sessions.import');

const bundleOf = () => madeBundle([{ type: 'session.opened', payload: {} }]).bytes;

/** Sends the first part of a bundle, and the rest on demand. */
const slowBundle = (bundle: Uint8Array) => {
  const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>();
  const writer = writable.getWriter();
  const first = writer.write(bundle.subarray(0, 20));
  const sendRest = async () => {
    await first;
    await writer.write(bundle.subarray(20));
    await writer.close();
  };
  return { readable, sendRest };
};

test('[HTTP14] a workspace runs one import at a time, and other workspaces can import at the same time', async () => {
  const server = await startTestServer();
  const slow = slowBundle(bundleOf());
  const first = importInto(server, slow.readable);
  await begun(server);
  expect(await codeOf(importInto(server, 'no bundle\n'))).toBe('STORE_BUSY');
  expect((await importInto(server, bundleOf(), server.foreignKeys.admin)).status).toBe(200);
  await slow.sendRest();
  expect((await first).status).toBe(200);
  expect((await importInto(server, bundleOf())).status).toBe(200);
});

test.each(['has much left to read', 'receives no further bytes'])(
  '[HTTP10, HTTP14] a server that stops ends an import that %s',
  async (what) => {
    const server = await startTestServer({ drainMs: 3_600_000 });
    const { readable } = slowBundle(bundleOf());
    const isSlow = what === 'receives no further bytes';
    const importing = importInto(server, isSlow ? readable : await bundleBomb({ contents: 8, mebibytes: 32 }));
    const outcome = importing.then(({ status }) => status).catch(() => 'cut off');
    await begun(server);
    expect(await codeOf(importInto(server, 'no bundle\n'))).toBe('STORE_BUSY');
    await server.server.stop();
    expect([503, 'cut off']).toContain(await outcome);
  },
);

test('[HTTP26] a folder listing over 8 MiB is refused with 413', async () => {
  const server = await startTestServer();
  const { bytes } = madeBundle([{ type: 'session.opened', payload: {} }], madeBlob('tree', Buffer.alloc(9_000_000)));
  const answer = await importInto(server, bytes);
  expect(answer.status).toBe(413);
  expect(await answer.json()).toMatchObject({ code: 'PAYLOAD_TOO_LARGE', details: { maxBytes: 8 * 1024 * 1024 } });
});

test('[HTTP26] commits over 64 MiB in all are refused with 413', async () => {
  const server = await startTestServer();
  const commit = (value: string) => ({
    type: 'state.committed',
    payload: { delta: [{ op: 'add', path: '/facts/a', value }], inverse: [], provenance: 'human' },
  });
  const { bytes } = madeBundle([
    { type: 'session.opened', payload: {} },
    ...Array.from({ length: 5 }, () => commit('x'.repeat(15 * 1024 * 1024))),
  ]);
  const answer = await importInto(server, bytes);
  expect(answer.status).toBe(413);
  expect(await answer.json()).toMatchObject({ code: 'PAYLOAD_TOO_LARGE', details: { maxBytes: 64 * 1024 * 1024 } });
});

test('[HTTP26] an import is limited to 8 GiB when it is decompressed', async () => {
  const server = await startTestServer();
  expect((await importInto(server, bundleOf())).status).toBe(200);
  expect(vi.mocked(importBundle).mock.lastCall?.[2]).toMatchObject({ maxBytes: 8 * 1024 ** 3 });
});
