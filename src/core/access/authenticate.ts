import { BoundedMap } from '../../concurrency/bounded-map.ts';
import type { KeyId, MemberId, WorkspaceId } from '../../schema/ids.ts';
import type { KeyInfo } from '../../schema/key-info.ts';
import type { Member } from '../../schema/member.ts';
import { lowerRole } from '../../schema/member-roles.ts';
import type { Clock } from '../ports/clock.ts';
import type { Records } from '../ports/records.ts';
import type { Identity } from './identity.ts';
import { isExpired } from './keys.ts';
import { findMember } from './members.ts';
import { infoOf, isSecretOf, parseToken, StoredKey } from './stored-key.ts';

export interface Authenticated {
  readonly identity: Identity;
  readonly key: KeyInfo;
}

/**
 * The maximum number of cached key holders. The member of a key never changes, so the cache lets key and member be
 * read in parallel.
 */
const maxHolders = 10_000;

/**
 * Authenticates API keys. Reads the store every time, so that a revoked key stops working immediately in every
 * process.
 */
export const authenticator = (
  records: Records,
  clock: Clock,
): ((token: string) => Promise<Authenticated | undefined>) => {
  const holders = new BoundedMap<KeyId, MemberId>(maxHolders);
  return async (token) => {
    const { workspace, id, secret } = parseToken(token);
    if (!workspace || !id || !secret) return undefined;
    const known = holders.get(id);
    const [found, holder] = await Promise.all([
      records.record(workspace, 'key', id),
      known && findMember(records, workspace, known),
    ]);
    if (!found) return undefined;
    const key = StoredKey.parse(found.body);
    if (!isSecretOf(key, secret) || key.revokedAt !== undefined || isExpired(key, clock.now())) return undefined;
    const { member } = (key.member === known ? holder : await findMember(records, workspace, key.member)) ?? {};
    if (!member) return undefined;
    holders.set(id, member.id);
    return { identity: identityOf(workspace, key, member), key: infoOf(key) };
  };
};

const identityOf = (workspace: WorkspaceId, key: StoredKey, member: Member): Identity => {
  const role = lowerRole(key.role, member.role);
  const { profile } = member;
  return { workspace, member: member.id, role, profile, key: key.id, areas: key.areas };
};
