import { z } from 'zod';
import { PerdureError } from '../../schema/error.ts';
import { MemberId, type WorkspaceId } from '../../schema/ids.ts';
import { Member, MemberRole, Profile } from '../../schema/member.ts';
import { parseInput } from '../../schema/parse-input.ts';
import { Reach } from '../../schema/sharing.ts';
import { allRecords, changeRecords, writeOf } from '../engine/change-records.ts';
import { refuseSecrets } from '../engine/refuse-secrets.ts';
import type { Caller, CallerAccess, RecordAccess } from '../engine/scope.ts';
import type { Records, RecordWrite } from '../ports/records.ts';
import { StoredKey } from './stored-key.ts';

const NewMember = z.strictObject({
  id: MemberId,
  role: MemberRole.default('member'),
  reach: Reach.optional(),
  profile: Profile.optional(),
});
const MemberChange = z.strictObject({
  role: MemberRole.optional(),
  reach: Reach.optional(),
  profile: Profile.optional(),
});

export type NewMember = Omit<z.input<typeof NewMember>, 'id'> & { readonly id: string };
export type MemberChange = z.input<typeof MemberChange>;

export interface Members {
  /** The caller and the workspace, with the caller's stored profile if none was passed. */
  me(): Promise<Caller & { readonly workspace: WorkspaceId; readonly profile?: Profile | undefined }>;
  /** All members, sorted by id. */
  list(): Promise<readonly Member[]>;
  /** Adds a user to the workspace, with a role. */
  add(member: NewMember): Promise<Member>;
  /** Changes the role, the reach or the profile. Neither role nor reach of the only admin can be lowered. */
  change(id: string, change: MemberChange): Promise<Member>;
  /** Removes a member and revokes all their keys. A later member with the same id does not get these keys back. */
  remove(id: string): Promise<void>;
}

/** The stored member with its version. */
export const findMember = async (records: Records, workspace: WorkspaceId, id: MemberId) => {
  const found = await records.record(workspace, 'member', id);
  return found && { member: Member.parse(found.body), version: found.version };
};

export const mustFindMember = async (records: Records, workspace: WorkspaceId, id: MemberId) => {
  const found = await findMember(records, workspace, id);
  if (found) return found;
  throw new PerdureError('MEMBER_NOT_FOUND', `${workspace} has no member ${id}: \`perdure members ls\` lists them`, {
    details: { workspace, member: id },
  });
};

/** Whether the member can administer the workspace: an admin of the reach `own` cannot. */
const isFullAdmin = ({ role, reach }: Member): boolean => role === 'admin' && reach !== 'own';

const textsOf = ({ name, about }: Profile = {}) => [name, about];

/**
 * Returns a write of another admin's unchanged record, so that two concurrent changes cannot remove the last admins.
 */
const anotherAdmin = async (
  records: Records,
  workspace: WorkspaceId,
  { id, role, reach }: Member,
): Promise<RecordWrite[]> => {
  if (role !== 'admin' || reach === 'own') return [];
  for (const { body, version } of await allRecords(records, workspace, 'member')) {
    const member = Member.parse(body);
    if (isFullAdmin(member) && member.id !== id) return [writeOf('member', member, version)];
  }
  throw new PerdureError('LAST_ADMIN', `${id} is the only admin of ${workspace}: make another member admin first`, {
    details: { workspace, member: id },
  });
};

export const membersOf = ({
  records,
  workspace,
  clock,
  caller,
  requester,
  secrets,
  random,
}: RecordAccess & CallerAccess): Members => ({
  me: async () => {
    const profile = requester.profile ?? (await findMember(records, workspace, caller.member))?.member.profile;
    return { workspace, ...caller, ...(profile && { profile }) };
  },
  list: async () => (await allRecords(records, workspace, 'member')).map(({ body }) => Member.parse(body)),
  add: async (input) => {
    const member: Member = { ...parseInput('the member', NewMember, input), addedAt: clock.now() };
    await refuseSecrets(secrets, 'the member', member.id, ...textsOf(member.profile));
    if (await records.writeRecords(workspace, [writeOf('member', member, 0)])) return member;
    throw new PerdureError(
      'CONFLICT',
      `${workspace} already has a member ${member.id}: change that one, or choose another id`,
      {
        details: { workspace, member: member.id },
      },
    );
  },
  change: async (input, given) => {
    const id = parseInput('the member', MemberId, input);
    const { role, reach, profile } = parseInput('the change', MemberChange, given);
    await refuseSecrets(secrets, 'the profile', ...textsOf(profile));
    return changeRecords({ records, workspace, clock, random }, async () => {
      const { member, version } = await mustFindMember(records, workspace, id);
      const changed: Member = {
        ...member,
        role: role ?? member.role,
        ...(reach && { reach }),
        profile: profile ?? member.profile,
      };
      const stays = isFullAdmin(changed) ? [] : await anotherAdmin(records, workspace, member);
      return { writes: [writeOf('member', changed, version), ...stays], result: changed };
    });
  },
  remove: async (input) => {
    const id = parseInput('the member', MemberId, input);
    await changeRecords({ records, workspace, clock, random }, async () => {
      const { member, version } = await mustFindMember(records, workspace, id);
      const stays = await anotherAdmin(records, workspace, member);
      const revokedAt = clock.now();
      const keys = (await allRecords(records, workspace, 'key')).flatMap((record) => {
        const key = StoredKey.parse(record.body);
        if (key.member !== id || key.revokedAt !== undefined) return [];
        return [writeOf('key', { ...key, revokedAt }, record.version)];
      });
      const removal: RecordWrite = { kind: 'member', id, onVersion: version, body: undefined };
      // Tells a removed member from one that the workspace never stored, whose runs a program may vouch for.
      const earlier = (await records.record(workspace, 'removed-member', id))?.version ?? 0;
      const removed = writeOf('removed-member', { id, removedAt: revokedAt }, earlier);
      return { writes: [removal, removed, ...keys, ...stays], result: undefined };
    });
  },
});
