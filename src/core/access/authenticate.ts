import { BoundedMap } from '../../concurrency/bounded-map.ts';
import type { KeyId, MemberId, WorkspaceId } from '../../schema/ids.ts';
import type { KeyInfo } from '../../schema/key-info.ts';
import type { Member } from '../../schema/member.ts';
import { lowerRole } from '../../schema/member-roles.ts';
import { lowerReach } from '../../schema/reaches.ts';
import type { Records } from '../ports/records.ts';
import { hasExpired } from './expiry.ts';
import type { Identity } from './identity.ts';
import { findMember } from './members.ts';
import type { SteadyClock } from './steady-clock.ts';
import { infoOf, isSecretOf, parseToken, StoredKey, StoredToken } from './stored-key.ts';

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
  clock: SteadyClock,
): ((token: string) => Promise<Authenticated | undefined>) => {
  const holders = new BoundedMap<KeyId, MemberId>(maxHolders);
  /** A token counts as long as its parent key and both members do. A member added later under the same id is another. */
  const authenticateToken = async (
    workspace: WorkspaceId,
    id: KeyId,
    secret: string,
  ): Promise<Authenticated | undefined> => {
    const found = await records.record(workspace, 'token', id);
    if (!found) return undefined;
    const token = StoredToken.parse(found.body);
    const scope = { records, workspace, clock };
    if (!isSecretOf(token, secret) || (await hasExpired(scope, found, token))) return undefined;
    const [parentRecord, holder] = await Promise.all([
      records.record(workspace, 'key', token.parent),
      findMember(records, workspace, token.member),
    ]);
    const parent = parentRecord && StoredKey.parse(parentRecord.body);
    if (!parent || parent.revokedAt !== undefined) return undefined;
    if (await hasExpired(scope, parentRecord, parent)) return undefined;
    if (parent.secretHash !== token.parentHash || !holder || holder.member.addedAt > token.createdAt) return undefined;
    const maker = await findMember(records, workspace, parent.member);
    if (!maker) return undefined;
    const own = identityOf(workspace, token, holder.member);
    const most = identityOf(workspace, parent, maker.member);
    return {
      identity: {
        ...own,
        role: lowerRole(own.role!, most.role!),
        reach: lowerReach(own.reach!, most.reach!),
        sessions: token.sessions,
      },
      key: infoOf(token),
    };
  };
  return async (token) => {
    const { workspace, id, secret } = parseToken(token);
    if (!workspace || !id || !secret) return undefined;
    const known = holders.get(id);
    const [found, holder] = await Promise.all([
      records.record(workspace, 'key', id),
      known && findMember(records, workspace, known),
      clock.learn(),
    ]);
    if (!found) return authenticateToken(workspace, id, secret);
    const key = StoredKey.parse(found.body);
    if (!isSecretOf(key, secret) || key.revokedAt !== undefined) return undefined;
    if (await hasExpired({ records, workspace, clock }, found, key)) return undefined;
    const { member } = (key.member === known ? holder : await findMember(records, workspace, key.member)) ?? {};
    if (!member) return undefined;
    holders.set(id, member.id);
    return { identity: identityOf(workspace, key, member), key: infoOf(key) };
  };
};

const identityOf = (workspace: WorkspaceId, key: StoredKey, member: Member): Identity => {
  const role = lowerRole(key.role, member.role);
  const reach = lowerReach(key.reach ?? 'workspace', member.reach ?? 'workspace');
  const { profile } = member;
  return { workspace, member: member.id, role, reach, profile, key: key.id, areas: key.areas };
};
