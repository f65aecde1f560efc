import { z } from 'zod';
import type { NewKey } from '../../../core/access/keys.ts';
import { areas } from '../../../schema/areas.ts';
import { KeyId } from '../../../schema/ids.ts';
import { KeyInfo } from '../../../schema/key-info.ts';
import { memberRoles } from '../../../schema/member-roles.ts';
import { reaches } from '../../../schema/reaches.ts';
import { NewKeyView } from '../../../schema/views/registry.ts';
import { findId } from '../../names/find-id.ts';
import { type Command, type Context, choice, choicesOf, defineCommand, text, texts } from '../../parse/command.ts';
import { parseDeadline } from '../../parse/moment.ts';
import { listings } from '../../render/listings.ts';
import { type Column, layOutTable } from '../../render/table.ts';
import { age, isoTime } from '../../render/time.ts';
import { printableLine } from '../../terminal/printable.ts';

const columns: readonly Column[] = [
  { title: 'KEY', shortens: 3 },
  { title: 'MEMBER' },
  { title: 'ROLE' },
  { title: 'STATE', leaves: 5 },
  { title: 'AGE', align: 'right', leaves: 1 },
  { title: 'AREAS', leaves: 2 },
  { title: 'NAME', flexible: true, leaves: 4 },
];

const stateOf = ({ revokedAt, expiredAt, expiresAt }: KeyInfo, now: number): string => {
  if (revokedAt !== undefined) return 'revoked';
  if (expiredAt !== undefined) return 'expired';
  if (expiresAt === undefined) return 'valid';
  return expiresAt <= now ? 'expired' : `until ${isoTime(expiresAt).slice(0, 10)}`;
};

const tableOf = (keys: readonly KeyInfo[], { out, now }: Context): readonly string[] => {
  const at = now();
  const rows = keys.map((key) => [
    key.id,
    key.member,
    key.reach === 'own' ? `${key.role} (own)` : key.role,
    stateOf(key, at),
    age(key.createdAt, at),
    key.areas?.join(',') ?? 'all',
    printableLine(key.name ?? ''),
  ]);
  return layOutTable(columns, rows, out.columns, (cell, _, row) => (row < 0 ? out.style('dim', cell) : cell));
};

const findKey = (context: Context, named: string): Promise<KeyId> =>
  findId(
    {
      noun: 'key',
      prefix: 'key_',
      isWhole: (text) => KeyId.safeParse(text).success,
      notFound: 'KEY_NOT_FOUND',
      listing: 'perdure keys ls',
      among: () => listings.keys(context),
    },
    named,
  );

/** Writes only the token to stdout, so that it can be piped. */
const hand = async (context: Context, made: NewKey): Promise<void> => {
  await context.answer(made, () => [made.token]);
  await context.note(`${made.key.id} is a key of ${made.key.member}. Save it now: it is shown only once.`);
};

export const keyCommands: readonly Command[] = [
  defineCommand({
    name: 'keys create',
    summary: 'make a key for a member, and show it once',
    args: ['[MEMBER]'],
    options: {
      name: text('NAME', 'what it is for'),
      role: choice('ROLE', memberRoles, `${memberRoles.join(', ')}; default the member's`),
      reach: choice('REACH', reaches, `own or workspace; default the member's`),
      area: choicesOf(
        'AREA',
        areas,
        `limit it to ${areas.join(', ')}; by default it reaches every area that its role allows`,
      ),
      expires: text('TIME', 'when it expires: 90d, or a date; default never'),
    },
    notes: ['Without MEMBER, the key is for yourself. The lower role and reach of key and member apply.'],
    examples: [
      'perdure keys create',
      'perdure keys create ann --name laptop --expires 90d',
      'perdure keys create ci --role viewer --area sessions --area files',
    ],
    makesStore: true,
    json: NewKeyView,
    run: async (context, { args: [member], options }) => {
      const request = {
        member,
        name: options.name,
        role: options.role,
        ...(options.reach && { reach: options.reach }),
        areas: options.area && [...options.area],
        expiresAt: parseDeadline('--expires', options.expires, context.now()),
      };
      await hand(context, await (await context.runtime()).keys.create(request));
      return undefined;
    },
  }),
  defineCommand({
    name: 'keys token',
    summary: 'make a short-lived token for a member, for a browser, and show it once',
    args: ['MEMBER'],
    options: {
      parent: text('KEY', 'the key that the token ends with; over a server, the key in use'),
      role: choice('ROLE', memberRoles, `${memberRoles.join(', ')}; default the member's`),
      reach: choice('REACH', reaches, `own or workspace; default the member's`),
      area: choicesOf('AREA', areas, 'limit it to these areas; default sessions, files, approvals, agents, usage'),
      session: texts('SESSION', 'a session that it is limited to'),
      minutes: text('NUMBER', 'how long it is valid: 15 by default, 60 at most'),
    },
    examples: ['perdure keys token customer-17 --parent key_… --minutes 30'],
    json: NewKeyView,
    run: async (context, { args: [member], options }) => {
      const { parent, role, reach, area, session, minutes } = options;
      const sessions = session && (await Promise.all(session.map((each) => context.sessionId(each))));
      const made = await (await context.runtime()).keys.createToken({
        member: member!,
        ...(parent !== undefined && { parent: await findKey(context, parent) }),
        ...(role && { role }),
        ...(reach && { reach }),
        ...(area && { areas: [...area] }),
        ...(sessions && { sessions }),
        ...(minutes !== undefined && { expiresInMs: Math.round(Number(minutes) * 60_000) }),
      });
      await hand(context, made);
      return undefined;
    },
  }),
  defineCommand({
    name: 'keys ls',
    summary: 'list the keys of the workspace, oldest first',
    args: [],
    options: {},
    examples: ['perdure keys ls', `perdure keys ls --json | jq -r '.keys[] | select(.revokedAt | not) | .id'`],
    json: z.strictObject({ keys: z.array(KeyInfo) }),
    run: async (context) => {
      const all = await (await context.runtime()).keys.list();
      await context.answer({ keys: all }, () =>
        all.length > 0 ? tableOf(all, context) : 'no keys yet: `perdure keys create` makes one',
      );
      return undefined;
    },
  }),
  defineCommand({
    name: 'keys rotate',
    summary: 'give a key a new secret; the old one stops working at once',
    args: ['KEY'],
    options: {},
    examples: ['perdure keys rotate key_…'],
    json: NewKeyView,
    run: async (context, { args: [id] }) => {
      await hand(context, await (await context.runtime()).keys.rotate(await findKey(context, id!)));
      return undefined;
    },
  }),
  defineCommand({
    name: 'keys revoke',
    summary: 'end a key at once and for good',
    args: ['KEY'],
    options: {},
    examples: ['perdure keys revoke key_…'],
    json: KeyInfo,
    run: async (context, { args: [id] }) => {
      const key = await (await context.runtime()).keys.revoke(await findKey(context, id!));
      await context.answer(key, () => `${key.id} of ${key.member} is revoked`);
      return undefined;
    },
  }),
];
