import { z } from 'zod';
import type { DiffPlace } from '../../../core/engine/places.ts';
import type { Comparison } from '../../../core/state/compare.ts';
import type { SessionId } from '../../../schema/ids.ts';
import { maxCompared } from '../../../schema/place.ts';
import { AdoptionView, ComparisonView, RewindView } from '../../../schema/views/session.ts';
import { parsePlace, placeIn } from '../../names/place.ts';
import { shortIds } from '../../names/short-ids.ts';
import { type Context, defineCommand, text } from '../../parse/command.ts';
import { wrongCall } from '../../parse/wrong-call.ts';
import { type NamedBranch, renderComparison } from '../../render/comparison-table.ts';
import { wrapCommand } from '../../render/wrap-command.ts';
import { linesText } from '../../terminal/terminal.ts';
import { askFor, type Branch, choose, chosenLines, commandFor, numberOf } from './choose-branch.ts';

const isPoint = (place: DiffPlace): boolean => 'seq' in place || 'turn' in place;

/** Resolves what was typed. The first branch names the session that bare points belong to. */
const resolve = async (context: Context, typed: readonly string[]) => {
  if (typed.length < 2 || typed.length > maxCompared) {
    throw wrongCall(`compare takes 2 to ${maxCompared} branches; got ${typed.length}`);
  }
  const parsed = typed.map(parsePlace);
  const [first] = parsed;
  if (!first || !('session' in first)) {
    throw wrongCall(`"${typed[0]}" names no session: the first branch is ses_…, or a point of it such as ses_…@turn:3`);
  }
  const places = [];
  for (const place of parsed) places.push(await placeIn(context, place));
  return places;
};

/** The compared places, each with whether its session is there now. */
const branchesOf = async (
  context: Context,
  { branches }: Comparison,
  typed: readonly string[],
  places: readonly DiffPlace[],
): Promise<readonly Branch[]> => {
  const heads = new Map<SessionId, number>();
  for (const { session } of branches.map(({ place }) => place)) {
    if (!heads.has(session)) heads.set(session, (await (await context.session(session)).summary()).seq);
  }
  return branches.map(({ place }, index) => {
    const point = isPoint(places[index]!) ? typed[index]!.split('@').at(-1) : undefined;
    return { typed: typed[index]!, point, place, isHead: heads.get(place.session) === place.seq };
  });
};

const namedBranches = ({ branches: found }: Comparison, branches: readonly Branch[]): readonly NamedBranch[] => {
  const ids = shortIds(branches.map(({ place }) => place.session));
  return found.map((branch, index) => {
    const { point } = branches[index]!;
    return { ...branch, name: point === undefined ? ids[index]! : `${ids[index]}@${point}` };
  });
};

/** The command that goes on with each branch. */
const commandLines = (branches: readonly Branch[], into: SessionId, context: Context): readonly string[] => [
  'to go on with a branch',
  ...branches.flatMap((branch, index) => {
    const command = commandFor(branch, into, context);
    if (command === undefined) return [`${index + 1}: ${into} is there already`];
    return [`${index + 1}:`, ...wrapCommand(command, context.out.columns, '  ')];
  }),
];

export const compare = defineCommand({
  name: 'compare',
  summary: 'show branches side by side, and adopt the chosen one',
  args: ['BRANCH', 'PLACE', '[PLACE…]'],
  options: {
    adopt: text('N', 'go on with this branch: its number, or as it was named'),
    into: text('SESSION', 'the session that adopts; default that of the first branch'),
  },
  notes: [
    'A branch is any place: ses_… for where a session is now, ses_…@turn:3, ses_…@turn:5#1 for an attempt, or turn:5#2 for a point of the first session.',
    'All columns begin where the branches part. Where both sides changed the same thing, the adopted branch wins; a point of SESSION itself is adopted by a rewind.',
  ],
  examples: [
    'perdure compare ses_… ses_…',
    'perdure compare ses_…@turn:5#1 turn:5#2',
    'perdure compare ses_…@turn:5#1 turn:5#2 --adopt 1',
  ],
  json: ComparisonView.extend({
    adopted: z
      .strictObject({
        branch: z.int(),
        adoption: AdoptionView.optional(),
        rewind: RewindView.pick({ cancelled: true, happened: true }).optional(),
      })
      .optional(),
  }).meta({ id: 'ComparedBranches' }),
  run: async (context, { args, options }) => {
    const places = await resolve(context, args);
    const session = await context.session((places[0] as { readonly session: SessionId }).session);
    const into = options.into === undefined ? session : await context.session(options.into);
    const found = await session.compare(places);
    const branches = await branchesOf(context, found, args, places);
    const wanted = options.adopt === undefined ? undefined : numberOf(options.adopt, branches);
    if (options.adopt !== undefined && wanted === undefined) {
      throw wrongCall(`--adopt "${options.adopt}" is none of the branches: give a number from 1 to ${branches.length}`);
    }
    if (context.json) {
      const adopted = wanted && (await choose(context, into, branches[wanted - 1]!, wanted));
      await context.answer({ ...found, ...(adopted && { adopted }) }, () => []);
      return undefined;
    }
    const lines = [...renderComparison(namedBranches(found, branches), context.out), ''];
    await context.out.write(linesText([...lines, ...commandLines(branches, into.id, context)]));
    const number = wanted ?? (await askFor(context, branches));
    if (number === undefined) return undefined;
    const chosen = await choose(context, into, branches[number - 1]!, number);
    if (!chosen) {
      await context.note('nothing was changed');
      return 'failure';
    }
    await context.out.write(linesText(['', ...chosenLines(chosen, into.id, context)]));
    return undefined;
  },
});
