import { z } from 'zod';
import { Area } from '../../../schema/areas.ts';
import { listOf } from '../../../schema/bounded.ts';
import { AuditId, KeyId, MemberId, WorkspaceId } from '../../../schema/ids.ts';
import { KeyInfo } from '../../../schema/key-info.ts';
import { Member, MemberRole, Profile } from '../../../schema/member.ts';
import { AuditPageView, NewKeyView } from '../../../schema/views/registry.ts';
import { defineRoute } from '../route.ts';
import { limitUpTo, nothing } from './fields.ts';

const ofMember = { member: MemberId };
const ofKey = { key: KeyId };

export const registryRoutes = [
  defineRoute({
    method: 'GET',
    path: '/v1/me',
    name: 'readMe',
    verb: 'members.me',
    summary: 'The member of this key, its workspace and its permissions',
    answer: z.strictObject({
      workspace: WorkspaceId,
      member: MemberId,
      role: MemberRole,
      key: KeyId.optional(),
      areas: listOf(Area, { max: 100 }).optional(),
      profile: Profile.optional(),
    }),
    handle: async ({ runtime }) => await runtime.members.me(),
  }),
  defineRoute({
    method: 'GET',
    path: '/v1/members',
    name: 'listMembers',
    verb: 'members.list',
    summary: 'The members of the workspace',
    answer: z.strictObject({ members: z.array(Member) }),
    handle: async ({ runtime }) => ({ members: [...(await runtime.members.list())] }),
  }),
  defineRoute({
    method: 'POST',
    path: '/v1/members',
    name: 'addMember',
    verb: 'members.add',
    summary: 'Adds a member',
    body: z.strictObject({ id: MemberId, role: MemberRole.optional(), profile: Profile.optional() }),
    status: 201,
    answer: Member,
    handle: ({ runtime, body }) => runtime.members.add(body),
  }),
  defineRoute({
    method: 'PATCH',
    path: '/v1/members/{member}',
    name: 'changeMember',
    verb: 'members.change',
    summary: 'Changes the role or profile of a member',
    params: ofMember,
    body: z.strictObject({ role: MemberRole.optional(), profile: Profile.optional() }),
    answer: Member,
    handle: ({ runtime, params, body }) => runtime.members.change(params.member, body),
  }),
  defineRoute({
    method: 'DELETE',
    path: '/v1/members/{member}',
    name: 'removeMember',
    verb: 'members.remove',
    summary: 'Removes a member with all their keys',
    params: ofMember,
    handle: ({ runtime, params }) => runtime.members.remove(params.member),
  }),
  defineRoute({
    method: 'GET',
    path: '/v1/keys',
    name: 'listKeys',
    verb: 'keys.list',
    summary: 'The keys of the workspace, without their secrets',
    answer: z.strictObject({ keys: z.array(KeyInfo) }),
    handle: async ({ runtime }) => ({ keys: [...(await runtime.keys.list())] }),
  }),
  defineRoute({
    method: 'POST',
    path: '/v1/keys',
    name: 'createKey',
    verb: 'keys.create',
    summary: 'Creates a key; its token is shown only this once',
    about: 'An Idempotency-Key has no effect here: tokens are not kept, so a second request creates a second key.',
    body: z.strictObject({
      member: MemberId.optional(),
      name: KeyInfo.shape.name,
      role: MemberRole.optional(),
      areas: listOf(Area, { min: 1, max: 100 }).optional(),
      expiresAt: KeyInfo.shape.expiresAt,
    }),
    keyKeptBy: 'nobody',
    status: 201,
    answer: NewKeyView,
    handle: ({ runtime, body }) => runtime.keys.create(body),
  }),
  defineRoute({
    method: 'POST',
    path: '/v1/keys/{key}/rotate',
    name: 'rotateKey',
    verb: 'keys.rotate',
    summary: 'Gives the key a new secret under the same id; the old one is invalid at once',
    params: ofKey,
    body: nothing,
    keyKeptBy: 'nobody',
    answer: NewKeyView,
    handle: ({ runtime, params }) => runtime.keys.rotate(params.key),
  }),
  defineRoute({
    method: 'DELETE',
    path: '/v1/keys/{key}',
    name: 'revokeKey',
    verb: 'keys.revoke',
    summary: 'Revokes a key at once',
    params: ofKey,
    answer: KeyInfo,
    handle: ({ runtime, params }) => runtime.keys.revoke(params.key),
  }),
  defineRoute({
    method: 'GET',
    path: '/v1/audit',
    name: 'listAudit',
    verb: 'audit.list',
    summary: 'Who used which privileged verb, newest first',
    query: { limit: limitUpTo(1000).optional(), cursor: AuditId.optional() },
    answer: AuditPageView,
    handle: async ({ runtime, query }) => await runtime.audit.list(query),
  }),
];
