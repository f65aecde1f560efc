import { z } from 'zod';
import { Area } from '../../schema/areas.ts';
import { PerdureError } from '../../schema/error.ts';
import { KeyId, MemberId, newId } from '../../schema/ids.ts';
import { KeyInfo } from '../../schema/key-info.ts';
import { type Member, MemberRole } from '../../schema/member.ts';
import { isAtLeast, lowerRole } from '../../schema/member-roles.ts';
import { parseInput } from '../../schema/parse-input.ts';
import { lowerReach } from '../../schema/reaches.ts';
import { Reach } from '../../schema/sharing.ts';
import { allRecords, changeRecords, writeOf } from '../engine/change-records.ts';
import { refuseSecrets } from '../engine/refuse-secrets.ts';
import type { CallerAccess, RecordAccess } from '../engine/scope.ts';
import type { StoredRecord } from '../ports/records.ts';
import { hasExpired } from './expiry.ts';
import { findMember, mustFindMember } from './members.ts';
import { infoOf, newSecret, StoredKey, tokenOf } from './stored-key.ts';
import { createToken, type TokenRequest } from './tokens.ts';

const KeyRequest = z.strictObject({
  /** The member that the key belongs to, by default the caller. */
  member: MemberId.optional(),
  name: KeyInfo.shape.name,
  /** The role of the key. By default the lower of the member's and the caller's role. */
  role: MemberRole.optional(),
  /** The reach of the key. By default the lower of the member's and the caller's reach. */
  reach: Reach.optional(),
  areas: z.array(Area).min(1).optional(),
  expiresAt: KeyInfo.shape.expiresAt,
});

export type KeyRequest = Omit<z.input<typeof KeyRequest>, 'member'> & { readonly member?: string | undefined };

export interface NewKey {
  readonly key: KeyInfo;
  /** The token. It is returned only this once, because only its hash is stored. */
  readonly token: string;
}

export interface Keys {
  /** Creates an API key. Only this result contains the key's token. */
  create(request?: KeyRequest): Promise<NewKey>;
  /**
   * Creates a short-lived token for one member, for a browser. It can do no more than its parent key, and ends with it.
   */
  createToken(request: TokenRequest): Promise<NewKey>;
  /** All keys, oldest first, including revoked and expired ones. */
  list(): Promise<readonly KeyInfo[]>;
  /** Creates a new token under the same id. The old token stops working immediately. */
  rotate(id: string): Promise<NewKey>;
  /** Revokes a key, which stops working immediately in every process. */
  revoke(id: string): Promise<KeyInfo>;
}

const keyNotFound = (id: KeyId, what: string): PerdureError =>
  new PerdureError('KEY_NOT_FOUND', `${id} ${what}: \`perdure keys ls\` lists the keys`, {
    details: { key: id },
  });

/** Rejects a key with more permissions than the caller has. */
const refuseWider = (
  { caller }: RecordAccess & CallerAccess,
  { role, areas, reach = 'workspace' }: Pick<KeyInfo, 'role' | 'areas' | 'reach'>,
): void => {
  const mine = caller.areas;
  const isWithin = !mine || areas?.every((area) => mine.includes(area));
  const isReached = lowerReach(caller.reach, reach) === reach;
  if (isAtLeast(caller.role, role) && isWithin && isReached) return;
  const own = `${caller.role}${caller.reach === 'own' ? ', reach own' : ''}${mine ? `, limited to ${mine.join(', ')}` : ''}`;
  throw new PerdureError('FORBIDDEN', `the key would be able to do more than your own (${own}): ask for less`, {
    details: { role: caller.role, areas: mine, reach: caller.reach },
  });
};

/**
 * Rejects a key role above the member's role. Such a role has no effect now, but would take effect if the member's
 * role were raised.
 */
const refuseAboveMember = ({ id, role: most, reach: farthest }: Member, role: MemberRole, reach: Reach): void => {
  if (farthest === 'own' && reach === 'workspace') {
    const message = `a key for ${id} cannot have the reach workspace, because ${id} has the reach own: request own, or raise the reach of ${id} first`;
    throw new PerdureError('INVALID_INPUT', message, { details: { member: id, reach: farthest } });
  }
  if (isAtLeast(most, role)) return;
  const message = `a key for ${id} cannot have the role ${role}, because ${id} has the role ${most}: request ${most} or lower, or raise the role of ${id} first`;
  throw new PerdureError('INVALID_INPUT', message, { details: { member: id, role: most } });
};

/** Rejects a key that outlives the caller's key, because the caller could use it to extend its own access. */
const refuseLonger = (own: KeyInfo | undefined, { expiresAt = Number.POSITIVE_INFINITY }: KeyInfo): void => {
  if (own?.expiresAt === undefined || expiresAt <= own.expiresAt) return;
  const end = new Date(own.expiresAt).toISOString();
  throw new PerdureError(
    'FORBIDDEN',
    `the key would outlive your own, which expires at ${end}: request that time or an earlier one`,
    {
      details: { expiresAt: own.expiresAt },
    },
  );
};

export const keysOf = (scope: RecordAccess & CallerAccess): Keys => {
  const { records, workspace, clock, caller } = scope;
  const mustFind = async (id: KeyId) => {
    const found = await records.record(workspace, 'key', id);
    if (!found) throw keyNotFound(id, 'is not a key of this workspace');
    return { key: StoredKey.parse(found.body), found };
  };
  const ownKey = async (): Promise<StoredKey | undefined> => caller.key && (await mustFind(caller.key)).key;
  /**
   * Finds or creates the member of a key. A caller without a key is trusted by the program, and becomes a member with
   * their first key.
   */
  const holderOf = async (id: MemberId, addedAt: number) => {
    if (id !== caller.member || caller.key) return mustFindMember(records, workspace, id);
    const { role, reach } = caller;
    const { profile } = scope.requester;
    return (await findMember(records, workspace, id)) ?? { member: { id, role, reach, profile, addedAt }, version: 0 };
  };
  const change = async <T extends StoredKey>(
    input: string,
    next: (key: StoredKey, found: StoredRecord) => T | Promise<T>,
  ): Promise<T> => {
    const id = parseInput('the key', KeyId, input);
    return changeRecords(scope, async () => {
      const { key, found } = await mustFind(id);
      const result = await next(key, found);
      return { writes: [writeOf('key', result, found.version)], result };
    });
  };
  return {
    create: async (input = {}) => {
      const request = parseInput('the key', KeyRequest, input);
      await refuseSecrets(scope.secrets, 'the name of the key', request.name);
      const now = clock.now();
      if (request.expiresAt !== undefined && request.expiresAt <= now) {
        throw new PerdureError('INVALID_INPUT', 'the key is not valid: expiresAt is in the past: use a future time');
      }
      const { secret, secretHash } = newSecret();
      const id = newId('key');
      const key = await changeRecords(scope, async () => {
        const { member, version } = await holderOf(request.member ?? caller.member, now);
        const role = request.role ?? lowerRole(member.role, caller.role);
        const reach = request.reach ?? lowerReach(member.reach ?? 'workspace', caller.reach);
        const made: StoredKey = { ...request, id, member: member.id, role, reach, createdAt: now, secretHash };
        refuseAboveMember(member, role, reach);
        refuseWider(scope, made);
        refuseLonger(await ownKey(), made);
        // Also writes the member, so that a member who is removed meanwhile gets no key.
        return { writes: [writeOf('key', made, 0), writeOf('member', member, version)], result: made };
      });
      return { key: infoOf(key), token: tokenOf(workspace, id, secret) };
    },
    createToken: (request) => createToken(scope, request),
    list: async () => (await allRecords(records, workspace, 'key')).map(({ body }) => infoOf(StoredKey.parse(body))),
    rotate: async (input) => {
      const { secret, secretHash } = newSecret();
      const own = await ownKey();
      const key = await change(input, async (known, found) => {
        if (known.revokedAt !== undefined) throw keyNotFound(known.id, 'was revoked, create another');
        if (await hasExpired(scope, found, known)) throw keyNotFound(known.id, 'has expired, create another');
        refuseWider(scope, known);
        refuseLonger(own, known);
        return { ...known, secretHash };
      });
      return { key: infoOf(key), token: tokenOf(workspace, key.id, secret) };
    },
    revoke: async (id) => infoOf(await change(id, (key) => ({ revokedAt: clock.now(), ...key }))),
  };
};
