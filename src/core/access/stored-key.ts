import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import { z } from 'zod';
import { KeyId, WorkspaceId } from '../../schema/ids.ts';
import { KeyInfo } from '../../schema/key-info.ts';

/** A key in its stored form. The secret itself is never stored. */
export const StoredKey = KeyInfo.extend({ secretHash: z.string() });
export type StoredKey = z.infer<typeof StoredKey>;

/** A token in its stored form, with the hash of its parent key's secret, so that rotating the parent ends it. */
export const StoredToken = StoredKey.required({ parent: true, expiresAt: true }).extend({ parentHash: z.string() });
export type StoredToken = z.infer<typeof StoredToken>;

export const infoOf = ({ secretHash: _, parentHash: __, ...info }: StoredKey & { parentHash?: string }): KeyInfo =>
  info;

const hashOf = (secret: string): Buffer => createHash('sha256').update(secret).digest();

export const newSecret = (): { readonly secret: string; readonly secretHash: string } => {
  const secret = randomBytes(32).toString('base64url');
  return { secret, secretHash: hashOf(secret).toString('hex') };
};

export const isSecretOf = ({ secretHash }: StoredKey, secret: string): boolean =>
  timingSafeEqual(hashOf(secret), Buffer.from(secretHash, 'hex'));

export const tokenOf = (workspace: WorkspaceId, id: KeyId, secret: string): string =>
  `pdk_${workspace}.${id}.${secret}`;

const tokenForm = /^pdk_([^.]{1,63})\.([^.]{1,40})\.([\w-]{43})$/;

/** Returns the parts of a token. All parts are undefined if the text is not a token. */
export const parseToken = (token: unknown) => {
  const [, workspace, id, secret] = (typeof token === 'string' && tokenForm.exec(token)) || [];
  return { workspace: WorkspaceId.safeParse(workspace).data, id: KeyId.safeParse(id).data, secret };
};
