import { printableLine } from '../terminal/printable.ts';
import { changedValues, type EntryOf, type EntryText, entryText, type Part } from './entry-text.ts';

export interface EntryChange<P extends Part> {
  readonly id: string;
  readonly before?: EntryOf<P>;
  readonly after?: EntryOf<P>;
}

export interface ChangeText extends EntryText {
  readonly sign: '+' | '-' | '~';
}

const moved = (before: unknown, after: unknown): string => (before === after ? String(after) : `${before} → ${after}`);

/** Formats an optional detail of an entry, and how it changed. */
const beside = (word: string, before: string | undefined, after: string | undefined): string => {
  if (before === undefined) return after === undefined ? '' : `${word}${after}`;
  return `${word}${moved(before, after ?? 'none')}`;
};

const numberText = (value: number | undefined): string | undefined => value?.toString();

type Decision = EntryOf<'decisions'>;

const confidenceShift = ({ confidence: was }: Decision, { confidence: is }: Decision): readonly string[] =>
  was === is ? [] : [`confidence ${moved(was ?? 'none', is ?? 'none')}`];

/** The alternatives that were added or dropped. An order alone is told by the whole lists. */
const alternativesShift = (
  { alternatives: was = [] }: Decision,
  { alternatives: is = [] }: Decision,
): readonly string[] => {
  const signed = [
    ...is.filter((each) => !was.includes(each)).map((each) => `+${each}`),
    ...was.filter((each) => !is.includes(each)).map((each) => `-${each}`),
  ];
  if (signed.length > 0) return [`alternatives ${signed.join(', ')}`];
  return was.join('\n') === is.join('\n') ? [] : [`alternatives ${was.join(', ')} → ${is.join(', ')}`];
};

const replaced = (id: string, before: unknown, after: unknown): EntryText => ({
  line: `${printableLine(id)}: ${changedValues(before, after).join(' → ')}`,
});

const texts: { readonly [P in Part]: (id: string, before: EntryOf<P>, after: EntryOf<P>) => EntryText } = {
  decisions: (id, before, after) => {
    const shifts = [...confidenceShift(before, after), ...alternativesShift(before, after)];
    return {
      line: printableLine(
        `${id}: ${moved(before.what, after.what)}${shifts.length > 0 ? ` (${shifts.join('; ')})` : ''}`,
      ),
      why: printableLine(moved(before.why, after.why)),
    };
  },
  facts: replaced,
  pins: (id) => ({ line: printableLine(id) }),
  plan: (id, before, after) => {
    const order = before.order === after.order ? '' : `, place ${moved(before.order, after.order)}`;
    return {
      line: printableLine(`${id}: ${moved(before.step, after.step)} (${moved(before.status, after.status)}${order})`),
    };
  },
  pendingActions: (id, before, after) => {
    const status = `${moved(before.status, after.status)}${beside(': ', before.outcome, after.outcome)}`;
    return { line: printableLine(`${id}: ${moved(before.what, after.what)} (${status})`) };
  },
  filesModified: (id, before, after) => {
    const [from, by] = [beside(' from ', before.from, after.from), beside(' by ', before.tool, after.tool)];
    const isCallAlone = before.change === after.change && before.from === after.from && before.tool === after.tool;
    const call = isCallAlone ? beside(' in ', before.callId, after.callId) : '';
    const place = isCallAlone ? beside(' after event ', numberText(before.after), numberText(after.after)) : '';
    const files = beside(', files: ', numberText(before.files), numberText(after.files));
    return { line: printableLine(`${id} ${moved(before.change, after.change)}${from}${by}${call}${place}${files}`) };
  },
  progress: (id, before, after) => ({ line: printableLine(`${id}: ${moved(before.note, after.note)}`) }),
  toolsUsed: (id, before, after) => {
    const isOkAlone = before.calls === after.calls && before.failed === after.failed;
    const ok = isOkAlone ? `, ${moved(before.ok, after.ok)} ok` : '';
    const [calls, failed] = [moved(before.calls, after.calls), moved(before.failed, after.failed)];
    return { line: printableLine(`${id}: ${calls} calls, ${failed} failed${ok}`) };
  },
  scratch: replaced,
  own: replaced,
};

/** Formats one change of a diff for people: + added, - removed, ~ changed from → to. */
export const changeText = <P extends Part>(part: P, { id, ...change }: EntryChange<P>): ChangeText => {
  const { before, after } = change as { readonly before: EntryOf<P>; readonly after: EntryOf<P> };
  if (!('before' in change)) return { sign: '+', ...entryText(part, id, after) };
  if (!('after' in change)) return { sign: '-', ...entryText(part, id, before) };
  const describe = texts[part] as (id: string, before: EntryOf<P>, after: EntryOf<P>) => EntryText;
  return { sign: '~', ...describe(id, before, after) };
};
