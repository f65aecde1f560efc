import type { KeyInfo } from '../../../schema/key-info.ts';
import { lowerRole } from '../../../schema/member-roles.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Records } from '../../ports/records.ts';
import type { Identity } from '../identity.ts';
import { isExpired } from './keys.ts';
import { findMember } from './members.ts';
import { infoOf, isSecretOf, parseToken, StoredKey } from './stored-key.ts';

export interface Authenticated {
  readonly identity: Identity;
  readonly key: KeyInfo;
}

/** Asked of the store every time, so that what was revoked anywhere stops at once. */
export const authenticate = async (
  records: Records,
  clock: Clock,
  token: string,
): Promise<Authenticated | undefined> => {
  const { workspace, id, secret } = parseToken(token);
  if (!workspace || !id || !secret) return undefined;
  const found = await records.record(workspace, 'key', id);
  if (!found) return undefined;
  const key = StoredKey.parse(found.body);
  if (!isSecretOf(key, secret) || key.revokedAt !== undefined || isExpired(key, clock.now())) return undefined;
  const { member } = (await findMember(records, workspace, key.member)) ?? {};
  if (!member) return undefined;
  const role = lowerRole(key.role, member.role);
  const { profile } = member;
  const identity = { workspace, member: member.id, role, profile, key: key.id, areas: key.areas };
  return { identity, key: infoOf(key) };
};
