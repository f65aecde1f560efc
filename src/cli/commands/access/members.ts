import { z } from 'zod';
import { MemberId } from '../../../schema/ids.ts';
import { Member, type Profile } from '../../../schema/member.ts';
import { memberRoles } from '../../../schema/member-roles.ts';
import { reaches } from '../../../schema/reaches.ts';
import { type Command, type Context, choice, defineCommand, text } from '../../parse/command.ts';
import { wrongCall } from '../../parse/wrong-call.ts';
import { type Column, layOutTable } from '../../render/table.ts';
import { age } from '../../render/time.ts';
import { printableLine } from '../../terminal/printable.ts';

const columns: readonly Column[] = [
  { title: 'MEMBER' },
  { title: 'ROLE' },
  { title: 'REACH', leaves: 3 },
  { title: 'ADDED', align: 'right', leaves: 1 },
  { title: 'NAME', flexible: true, leaves: 2 },
];

const tableOf = (members: readonly Member[], { out, now }: Context): readonly string[] => {
  const at = now();
  const rows = members.map(({ id, role, reach = 'workspace', addedAt, profile }) => [
    id,
    role,
    reach,
    age(addedAt, at),
    printableLine(profile?.name ?? ''),
  ]);
  return layOutTable(columns, rows, out.columns, (cell, _, row) => (row < 0 ? out.style('dim', cell) : cell));
};

const options = {
  role: choice('ROLE', memberRoles, memberRoles.join(', ')),
  reach: choice('REACH', reaches, 'own: only own and shared sessions; workspace: those of the workspace, the default'),
  name: text('NAME', 'a display name, which agents see'),
  about: text('TEXT', 'what else agents should know'),
};

const profileOf = ({ name, about }: Profile): { readonly profile?: Profile } =>
  (name ?? about) === undefined
    ? {}
    : { profile: { ...(name !== undefined && { name }), ...(about !== undefined && { about }) } };

const shown = ({ id, role, reach }: Member): string =>
  `${id} is ${role}${reach === 'own' ? ', and reaches only own and shared sessions' : ''}`;

export const memberCommands: readonly Command[] = [
  defineCommand({
    name: 'members ls',
    summary: 'list the members of the workspace',
    args: [],
    options: {},
    examples: ['perdure members ls', 'perdure members ls --json'],
    json: z.strictObject({ members: z.array(Member) }),
    run: async (context) => {
      const all = await (await context.runtime()).members.list();
      await context.answer({ members: all }, () =>
        all.length > 0 ? tableOf(all, context) : 'no members yet: `perdure members add` makes one',
      );
      return undefined;
    },
  }),
  defineCommand({
    name: 'members add',
    summary: 'add a member to the workspace',
    args: ['MEMBER'],
    options,
    notes: ['Without --role, a member may change sessions, but not approve or manage anything.'],
    examples: ['perdure members add ann --role approver --name Ann', 'perdure members add customer-17 --reach own'],
    makesStore: true,
    json: Member,
    run: async (context, { args: [id], options: given }) => {
      const { members } = await context.runtime();
      const member = await members.add({
        id: id!,
        role: given.role,
        ...(given.reach && { reach: given.reach }),
        ...profileOf(given),
      });
      await context.answer(member, () => shown(member));
      return undefined;
    },
  }),
  defineCommand({
    name: 'members set',
    summary: 'change the role, the reach or the profile of a member',
    args: ['MEMBER'],
    options,
    notes: ['A profile is replaced as a whole. A new role applies at once to the keys of the member.'],
    examples: ['perdure members set ann --role viewer'],
    json: Member,
    run: async (context, { args: [id], options: given }) => {
      const change = { role: given.role, ...(given.reach && { reach: given.reach }), ...profileOf(given) };
      if (!change.role && !change.reach && !change.profile) {
        throw wrongCall('members set needs --role, --reach, --name or --about');
      }
      const member = await (await context.runtime()).members.change(id!, change);
      await context.answer(member, () => shown(member));
      return undefined;
    },
  }),
  defineCommand({
    name: 'members rm',
    summary: 'remove a member, and revoke their keys',
    args: ['MEMBER'],
    options: {},
    examples: ['perdure members rm ann'],
    json: z.strictObject({ removed: MemberId }),
    run: async (context, { args: [id] }) => {
      await (await context.runtime()).members.remove(id!);
      await context.answer({ removed: id }, () => `${printableLine(id!)} is no longer a member, and has no keys`);
      return undefined;
    },
  }),
];
