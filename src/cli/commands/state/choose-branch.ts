import type { PlaceRef } from '../../../core/engine/places.ts';
import type { Session } from '../../../core/runtime/session.ts';
import type { Adoption } from '../../../core/sessions/adopt.ts';
import type { Rewind } from '../../../core/sessions/rewind.ts';
import type { SessionId } from '../../../schema/ids.ts';
import type { Context } from '../../parse/command.ts';
import { happenedLines, notUndone } from '../../render/happened-lines.ts';
import { adoptionLines } from '../sessions/adopt.ts';
import { isConfirmed } from '../sessions/rewind.ts';

/** A compared place: how it was named, and what it is. */
export interface Branch {
  readonly typed: string;
  /** The point in the form of the command line, if one was named. */
  readonly point?: string | undefined;
  readonly place: PlaceRef;
  readonly isHead: boolean;
}

/** What choosing a branch does: nothing, a rewind to one of the session's own points, or an adoption. */
type Choice = 'keep' | 'rewind' | 'adopt' | 'fork';

const choiceOf = ({ place, isHead }: Branch, into: SessionId): Choice => {
  if (place.session === into) return isHead ? 'keep' : 'rewind';
  return isHead ? 'adopt' : 'fork';
};

const theirs = ['--on-conflict', 'theirs'] as const;

/** The command that chooses a branch. Undefined if the session is that branch already. */
export const commandFor = (branch: Branch, into: SessionId, { commandText }: Context): string | undefined => {
  const { place, point = `seq:${place.seq}` } = branch;
  switch (choiceOf(branch, into)) {
    case 'keep':
      return undefined;
    case 'rewind':
      return commandText('rewind', into, '--to', point);
    case 'adopt':
      return commandText('adopt', into, place.session, ...theirs);
    case 'fork':
      return `${commandText('adopt', into, ...theirs)} "$(${commandText('fork', place.session, '--at', point)})"`;
  }
};

interface Chosen {
  readonly branch: number;
  readonly adoption?: Adoption;
  readonly rewind?: Rewind;
}

/** Makes the session go on with a branch. Where both sides changed something, the chosen branch wins. */
export const choose = async (
  context: Context,
  into: Session,
  branch: Branch,
  number: number,
): Promise<Chosen | undefined> => {
  const { place } = branch;
  const choice = choiceOf(branch, into.id);
  if (choice === 'keep') return { branch: number };
  if (choice === 'rewind') {
    const to = { seq: place.seq };
    if (!(await isConfirmed(context, await into.happened({ after: to })))) return undefined;
    return { branch: number, rewind: await into.rewind({ to, reason: 'chosen by compare' }) };
  }
  const source = await context.session(place.session);
  const adopted = choice === 'fork' ? await source.fork({ at: { seq: place.seq } }) : source;
  return { branch: number, adoption: await into.adopt(adopted.id, { onConflict: 'theirs' }) };
};

export const chosenLines = (
  { branch, adoption, rewind }: Chosen,
  into: SessionId,
  { out }: Context,
): readonly string[] => {
  if (adoption) return adoptionLines(adoption, 'theirs', out);
  if (!rewind) return [`${into} is branch ${branch} already: nothing was changed`];
  return [`${into} goes on from branch ${branch}`, ...happenedLines(notUndone, rewind.happened, out)];
};

/** The number of the branch that a person names by number or as typed. */
export const numberOf = (named: string, branches: readonly Branch[]): number | undefined => {
  const index = branches.findIndex(({ typed, place }) => typed === named || place.session === named);
  if (index >= 0) return index + 1;
  const number = /^[1-9]$/.test(named) ? Number(named) : 0;
  return number >= 1 && number <= branches.length ? number : undefined;
};

/** Asks the person at the terminal which branch to go on with. Undefined if there is none, or none is chosen. */
export const askFor = async (context: Context, branches: readonly Branch[]): Promise<number | undefined> => {
  const person = context.json ? undefined : context.person();
  if (!person?.isTerminal) return undefined;
  try {
    person.prompt(`adopt which? [1 to ${branches.length}, or Enter for none] `);
    return numberOf(((await person.nextLine()) ?? '').trim(), branches);
  } finally {
    person.close();
  }
};
