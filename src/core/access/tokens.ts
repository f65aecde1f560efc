import { z } from 'zod';
import { Area } from '../../schema/areas.ts';
import { listOf } from '../../schema/bounded.ts';
import { PerdureError } from '../../schema/error.ts';
import { KeyId, MemberId, newId, SessionId } from '../../schema/ids.ts';
import type { KeyInfo } from '../../schema/key-info.ts';
import { MemberRole } from '../../schema/member.ts';
import { lowerRole } from '../../schema/member-roles.ts';
import { parseInput } from '../../schema/parse-input.ts';
import { lowerReach } from '../../schema/reaches.ts';
import { Reach } from '../../schema/sharing.ts';
import { changeRecords, writeOf } from '../engine/change-records.ts';
import type { CallerAccess, RecordAccess } from '../engine/scope.ts';
import { hasExpired } from './expiry.ts';
import { mustFindMember } from './members.ts';
import { infoOf, newSecret, StoredKey, type StoredToken, tokenOf } from './stored-key.ts';

const defaultTokenMs = 15 * 60_000;
const maxTokenMs = 60 * 60_000;

/** The areas of a token that names none: what a person works with, and nothing that administers. */
const defaultAreas = ['sessions', 'files', 'approvals', 'agents', 'usage'] as const satisfies readonly Area[];

export const TokenRequest = z.strictObject({
  /** The member that the token acts as. */
  member: MemberId,
  /** By default the lower of the member's and the caller's role. */
  role: MemberRole.optional(),
  /** By default the lower of the member's and the caller's reach. */
  reach: Reach.optional(),
  /** By default sessions, files, approvals, agents and usage, as far as the caller's key has them. */
  areas: listOf(Area, { min: 1, max: 100 }).optional(),
  /** The only sessions that the token reaches. It can then open and fork none. */
  sessions: listOf(SessionId, { min: 1, max: 100 }).optional(),
  /** How long the token is valid, by default 15 minutes, an hour at most. It never outlives its parent key. */
  expiresInMs: z.int().min(1000).max(maxTokenMs).default(defaultTokenMs),
  /** The parent key. By default the key in use; a program without a key must name one. */
  parent: KeyId.optional(),
});
export type TokenRequest = Omit<z.input<typeof TokenRequest>, 'member' | 'sessions' | 'parent'> & {
  readonly member: string;
  readonly sessions?: readonly string[] | undefined;
  readonly parent?: string | undefined;
};

const forbidden = (message: string, details: object = {}): PerdureError =>
  new PerdureError('FORBIDDEN', message, { details: { verb: 'keys.createToken', ...details } });

/** The number of expired tokens that creating one removes, so that their number stays bounded. */
const removedAtOnce = 20;

const removeExpired = async ({ records, workspace, clock }: RecordAccess): Promise<void> => {
  const old = await records.records(workspace, 'token', { dueBy: clock.now(), limit: removedAtOnce });
  for (const { kind, id, version } of old) {
    await records.writeRecords(workspace, [{ kind, id, onVersion: version, body: undefined }]);
  }
};

/** The key that a token is made with. A token is no such key, so it makes no further tokens. */
const parentOf = async (scope: RecordAccess & CallerAccess, named?: KeyId) => {
  const { records, workspace, caller } = scope;
  if (caller.key && named && named !== caller.key)
    throw forbidden('a token names the key in use as its parent: omit `parent`');
  const id = caller.key ?? named;
  if (!id) throw forbidden('a token needs a parent key: name it as `parent`, or create the token with that key');
  const found = await records.record(workspace, 'key', id);
  const key = found && StoredKey.parse(found.body);
  const isValid = key && key.revokedAt === undefined && !(await hasExpired(scope, found, key));
  if (!isValid)
    throw forbidden(`${id} is not a valid key of this workspace: create the token with an API key`, { key: id });
  return key;
};

/** What both the caller and the parent key may do. */
const mostOf = (caller: CallerAccess['caller'], parent: KeyInfo) => ({
  role: lowerRole(caller.role, parent.role),
  reach: lowerReach(caller.reach, parent.reach ?? 'workspace'),
  areas: parent.areas ? parent.areas.filter((area) => caller.areas?.includes(area) ?? true) : caller.areas,
});

/** Creates a short-lived token for one member, for a browser. It ends with its parent key and can never do more. */
export const createToken = async (
  scope: RecordAccess & CallerAccess,
  input: TokenRequest,
): Promise<{ readonly key: KeyInfo; readonly token: string }> => {
  const request = parseInput('the token', TokenRequest, input);
  const { records, workspace, clock } = scope;
  const parent = await parentOf(scope, request.parent);
  const most = mostOf(scope.caller, parent);
  const { secret, secretHash } = newSecret();
  const now = clock.now();
  const id = newId('key');
  const made = await changeRecords(scope, async () => {
    const { member, version } = await mustFindMember(records, workspace, request.member);
    const role = request.role ?? lowerRole(member.role, most.role);
    const reach = request.reach ?? lowerReach(member.reach ?? 'workspace', most.reach);
    const areas = request.areas ?? defaultAreas.filter((area) => most.areas?.includes(area) ?? true);
    const isWithin =
      lowerRole(role, lowerRole(member.role, most.role)) === role &&
      lowerReach(reach, lowerReach(member.reach ?? 'workspace', most.reach)) === reach &&
      areas.every((area) => most.areas?.includes(area) ?? true);
    if (!isWithin || areas.length === 0) {
      throw forbidden(`the token would be able to do more than its parent key or ${member.id}: ask for less`, most);
    }
    const expiresAt = Math.min(now + request.expiresInMs, parent.expiresAt ?? Number.POSITIVE_INFINITY);
    const about = { id, member: member.id, role, reach, areas, createdAt: now, expiresAt, parent: parent.id };
    const sessions = request.sessions && { sessions: request.sessions };
    const token: StoredToken = { ...about, ...sessions, secretHash, parentHash: parent.secretHash };
    // Also writes the member, so that a member who is removed meanwhile gets no token.
    const writes = [{ ...writeOf('token', token, 0), dueAt: expiresAt }, writeOf('member', member, version)];
    return { writes, result: token };
  });
  await removeExpired(scope);
  return { key: infoOf(made), token: tokenOf(workspace, id, secret) };
};
