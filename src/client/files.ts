import type { SessionArtifacts } from '../core/session-files/artifacts.ts';
import type { SessionFiles } from '../core/session-files/session-files.ts';
import type { SessionId } from '../schema/ids.ts';
import { path as pathOf, placeText, pointText } from './address.ts';
import type { Listed } from './listed.ts';
import { localOnly } from './local-only.ts';
import { freshKey, type Transport } from './transport.ts';

const modeText = (mode: number | undefined): string | undefined => mode?.toString(8).padStart(3, '0');

export const filesAfar = (transport: Transport, session: SessionId): SessionFiles => {
  const at = pathOf`/v1/sessions/${session}/files`;
  const content = `${at}/content`;
  return {
    list: async ({ at: point, ...options } = {}) => {
      const query = { ...options, at: pointText(point), path: options.path || undefined };
      return (await transport.json<Listed<'files', SessionFiles['list']>>(at, { query })).files;
    },
    read: (path, { at: point, ...options } = {}) =>
      transport.bytes(content, { query: { ...options, path, at: pointText(point) } }),
    write: (path, bytes, { mode, expect, why, idempotencyKey = freshKey() } = {}) =>
      transport.json(content, {
        method: 'PUT',
        query: { path, mode: modeText(mode), expect: expect === null ? 'none' : expect, why },
        content: bytes,
        idempotencyKey,
      }),
    delete: (path, { idempotencyKey, ...options } = {}) =>
      transport.done(content, { method: 'DELETE', query: { path, ...options }, idempotencyKey }),
    diff: async (from, to) => transport.json(`${at}/diff`, { query: { from: placeText(from), to: placeText(to) } }),
    changes: async (from, to) => {
      const query = { from: placeText(from), to: placeText(to) };
      return (await transport.json<Listed<'changes', SessionFiles['changes']>>(`${at}/changes`, { query })).changes;
    },
    history: async (path, { at: point, ...options } = {}) => {
      const query = { path, ...options, at: pointText(point) };
      return (await transport.json<Listed<'versions', SessionFiles['history']>>(`${at}/history`, { query })).versions;
    },
    restore: (to, { idempotencyKey = freshKey(), ...options } = {}) =>
      transport.json(`${at}/restore`, { method: 'POST', body: { to, ...options }, idempotencyKey }),
    copyTo: async () => {
      throw localOnly('files.copyTo', 'list the files and read them');
    },
  };
};

export const artifactsAfar = (transport: Transport, session: SessionId): SessionArtifacts => ({
  keep: (name, given, { mediaType, idempotencyKey = freshKey() } = {}) => {
    const isContent = typeof given === 'string' || given instanceof Uint8Array;
    return transport.json(pathOf`/v1/sessions/${session}/artifacts/${name}`, {
      method: 'PUT',
      query: { mediaType, path: isContent ? undefined : given.path },
      content: isContent ? given : '',
      idempotencyKey,
    });
  },
  list: async () =>
    (await transport.json<Listed<'artifacts', SessionArtifacts['list']>>(pathOf`/v1/sessions/${session}/artifacts`))
      .artifacts,
  read: (name) => transport.bytes(pathOf`/v1/sessions/${session}/artifacts/${name}`),
});
