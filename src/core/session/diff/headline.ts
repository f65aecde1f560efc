import { pointerOf } from '../../../schema/pointer.ts';
import { shorten } from '../context/clip.ts';
import type { EntryChange, StateDiff } from '../state/diff.ts';
import { isRecord } from '../state/patch-between.ts';
import type { ComparedSides, Matched } from './compare-sides.ts';
import { valueText } from './message-text.ts';
import type { Side, SideCall, SideCommit, SideMessage, SideOutcome } from './side.ts';
import type { ModelDifference, UsageDifference } from './side-changes.ts';

/** A file that differs, with the newest commit of each side that changed it. */
export interface ChangedPath {
  readonly path: string;
  readonly change: string;
  readonly before?: SideCommit | undefined;
  readonly after?: SideCommit | undefined;
}

/** What a headline is made of. */
export interface HeadlineParts {
  readonly files: readonly ChangedPath[];
  readonly state: StateDiff;
  readonly sides: { readonly before: Side; readonly after: Side };
  readonly compared: ComparedSides;
  readonly usage: UsageDifference;
  readonly models: ModelDifference;
}

const maxLines = 3;
const maxLineChars = 200;
const maxQuoteChars = 60;
const maxOfEach = 2;

const lineOf = (text: string): string => text.replaceAll(/[\s\p{Cc}\p{Cf}\p{Zl}\p{Zp}]+/gu, ' ').trim();

/** A text in quotes, so that it cannot be mistaken for another part of the headline. */
const quoted = (text: string): string => JSON.stringify(shorten(lineOf(text), maxQuoteChars));

/** A value as it is, or in quotes if it has characters of a headline. */
const bare = (value: unknown): string => {
  const text = typeof value === 'string' ? value : valueText(value, maxQuoteChars);
  return /^[^;→"()\p{C}\p{Zl}\p{Zp}]{1,60}$/u.test(text) ? text : quoted(text);
};

const moved = (before: unknown, after: unknown): string => `${bare(before)} → ${bare(after)}`;

/** Why a commit was made, in the words of the model or of the commit. */
const reasonOf = (commit: SideCommit | undefined): string | undefined =>
  [commit?.said?.text, commit?.why, commit?.said?.reasoning].find((text) => text?.trim());

const because = ({ before, after }: { before?: SideCommit | undefined; after?: SideCommit | undefined }): string => {
  const reason = reasonOf(after);
  if (reason !== undefined) return ` (${quoted(reason)})`;
  const earlier = after ? undefined : reasonOf(before);
  return earlier === undefined ? '' : ` (before: ${quoted(earlier)})`;
};

/** The first items of a list, and how many more there are. */
const some = <T>(items: readonly T[], noun: string, textOf: (item: T) => string): readonly string[] => [
  ...items.slice(0, maxOfEach).map(textOf),
  ...(items.length > maxOfEach ? [`${items.length - maxOfEach} more ${noun}`] : []),
];

const fieldsOf = (value: unknown): Readonly<Record<string, unknown>> => (isRecord(value) ? value : {});

/** The fields that differ between two entries, for entries whose main field is the same. */
const otherFields = (before: unknown, after: unknown): string => {
  const [were, are] = [fieldsOf(before), fieldsOf(after)];
  const names = [...new Set([...Object.keys(were), ...Object.keys(are)])];
  const changed = names.filter((name) => JSON.stringify(were[name]) !== JSON.stringify(are[name]));
  return changed.map((name) => `${name} ${moved(were[name] ?? 'none', are[name] ?? 'none')}`).join(', ');
};

/** How an entry changed, by the field that names its content: `what` of a decision, `status` of a step. */
const entryText = (noun: string, field: string | undefined, { id, before, after }: EntryChange<unknown>): string => {
  const fieldOf = (entry: unknown): unknown => (field === undefined ? entry : fieldsOf(entry)[field]);
  const name = `${noun} ${bare(id)}`;
  if (after === undefined) return `${name} dropped`;
  if (before === undefined) return `${name}: ${bare(fieldOf(after))}`;
  const isSame = JSON.stringify(fieldOf(before)) === JSON.stringify(fieldOf(after));
  return `${name}: ${isSame ? otherFields(before, after) : moved(fieldOf(before), fieldOf(after))}`;
};

const newestCommits = (commits: Side['commits']): ReadonlyMap<string, SideCommit> =>
  new Map(commits.flatMap(({ item }) => item.entries.map((entry) => [entry, item] as const)));

const stateItems = ({ state, sides }: HeadlineParts): readonly string[] => {
  const [before, after] = [newestCommits(sides.before.commits), newestCommits(sides.after.commits)];
  const reasonFor = (part: string, { id }: EntryChange<unknown>): string => {
    const path = pointerOf(part, id);
    return because({ before: before.get(path), after: after.get(path) });
  };
  const entries = (part: keyof StateDiff, noun: string, field?: string): readonly string[] => {
    const changes = state[part] as readonly EntryChange<unknown>[];
    return some(changes, `${noun}s`, (change) => {
      // A decision has its own reason.
      const reason = part === 'decisions' ? '' : reasonFor(part, change);
      return `${entryText(noun, field, change)}${reason}`;
    });
  };
  return [
    ...entries('decisions', 'decision', 'what'),
    ...entries('facts', 'fact'),
    ...entries('own', 'value'),
    ...entries('plan', 'step', 'status'),
    ...entries('pendingActions', 'action', 'status'),
    ...entries('progress', 'note', 'note'),
    ...entries('scratch', 'scratch value'),
  ];
};

/** The place itself, or the one before it if it is in the middle of a character. */
const wholeCharacter = (text: string, place: number): number =>
  /[\uDC00-\uDFFF]/.test(text[place] ?? '') ? place - 1 : place;

/** The part of a text around the place where it begins to differ from another. */
const around = (text: string, other: string): string => {
  const [line, otherLine] = [lineOf(text), lineOf(other)];
  let place = 0;
  while (place < line.length && line[place] === otherLine[place]) place += 1;
  const start = wholeCharacter(line, Math.max(line.lastIndexOf(' ', Math.max(0, place - 20)) + 1, place - 30));
  const isShown = place < maxQuoteChars - 20 || line.length <= maxQuoteChars;
  return quoted(isShown ? line : `…${line.slice(start)}`);
};

const answerItem = ({ sides: { before, after } }: HeadlineParts): readonly string[] => {
  const [was, is] = [before.answer?.text, after.answer?.text];
  if (was === is) return [];
  if (was === undefined) return [`answer: ${quoted(is!)}`];
  if (is !== undefined && lineOf(was) === lineOf(is)) return ['answer: only white space differs'];
  return [is === undefined ? `answer dropped: ${quoted(was)}` : `answer: ${around(was, is)} → ${around(is, was)}`];
};

const outcomeText = ({ status, reason }: SideOutcome): string => (reason ? `${status}: ${bare(reason)}` : status);

const signed = (number: number, text: (size: number) => string): string =>
  `${number < 0 ? '-' : '+'}${text(Math.abs(number))}`;
const count = (number: number, noun: string): string => `${number} ${noun}${number === 1 ? '' : 's'}`;
const usdText = (usd: number): string => `$${usd.toFixed(usd >= 1 ? 2 : 3)}`;
const timeText = (ms: number): string => (ms < 1000 ? `${Math.round(ms)} ms` : `${(ms / 1000).toFixed(1)} s`);

const differing = <T>(items: readonly Matched<T>[]): readonly Matched<T>[] =>
  items.filter(({ match }) => match !== 'same');

const figures = ({ compared, usage: { difference }, sides, models }: HeadlineParts): readonly string[] => {
  const { before, after } = sides;
  const calls = after.calls.length - before.calls.length;
  const changed = compared.calls.filter(({ match }) => match === 'changed').length;
  const [was, is] = [models.before.at(-1)?.model, models.after.at(-1)?.model];
  return [
    ...(calls !== 0 ? [signed(calls, (size) => count(size, 'call'))] : []),
    ...(changed > 0 ? [`${count(changed, 'call')} changed`] : []),
    ...(difference.tokens !== 0 ? [signed(difference.tokens, (size) => count(size, 'token'))] : []),
    ...(Math.abs(difference.costUsd) >= 0.0005 ? [signed(difference.costUsd, usdText)] : []),
    ...(Math.abs(difference.durationMs) >= 100 ? [signed(difference.durationMs, timeText)] : []),
    ...(was !== undefined && is !== undefined && was !== is ? [`model ${moved(was, is)}`] : []),
    ...models.settings
      .slice(0, maxOfEach)
      .map(({ name, before: had, after: has }) => `${bare(name)} ${moved(had ?? 'none', has ?? 'none')}`),
    ...outcomeFigure(before.outcome, after.outcome),
  ];
};

const outcomeFigure = (before: SideOutcome | undefined, after: SideOutcome | undefined): readonly string[] => {
  if (!after || (before && outcomeText(before) === outcomeText(after))) return [];
  if (!before) return after.status === 'succeeded' ? [] : [outcomeText(after)];
  return [`${outcomeText(before)} → ${outcomeText(after)}`];
};

const callText = ({ before, after }: Matched<SideCall>): string => {
  const tool = bare((after ?? before)!.tool);
  if (before && after && before.outcome !== after.outcome) return `${tool}: ${before.outcome} → ${after.outcome}`;
  return `${tool} ${quoted((after ?? before)?.input ?? '')}`;
};

const messageText = ({ before, after }: Matched<SideMessage>): string => {
  const { role, text } = (after ?? before)!;
  return `${after ? '' : 'dropped '}message of the ${role}: ${quoted(text)}`;
};

const commitText = ({ before, after }: Matched<SideCommit>): string => {
  const { entries } = (after ?? before)!;
  const more = entries.length > maxOfEach ? ` and ${entries.length - maxOfEach} more` : '';
  const named = entries.length === 0 ? 'no entry' : `${entries.slice(0, maxOfEach).map(bare).join(', ')}${more}`;
  return `${after ? '' : 'dropped '}commit of ${named}${because({ before, after })}`;
};

/** Items for a difference that no other item names. */
const otherItems = ({ compared: { calls, messages, commits } }: HeadlineParts): readonly string[] => [
  ...some(differing(calls), 'calls', callText),
  ...some(differing(messages), 'messages', messageText),
  ...some(differing(commits), 'commits', commitText),
];

/** Puts items into lines. Items that do not fit are left out, and the last line has the figures. */
const inLines = (items: readonly string[], last: string): string => {
  const lines: string[] = [];
  const add = (item: string, most: number): boolean => {
    const line = lines.at(-1);
    const joined = line === undefined ? item : `${line}; ${item}`;
    if (line !== undefined && joined.length <= maxLineChars) lines[lines.length - 1] = joined;
    else if (lines.length < most) lines.push(shorten(item, maxLineChars));
    else return false;
    return true;
  };
  let isCut = false;
  for (const item of items) if (!add(item, maxLines - 1)) isCut = true;
  const end = [...(isCut ? ['…'] : []), ...(last === '' ? [] : [last])].join('; ');
  if (end !== '') add(end, maxLines);
  return lines.join('\n');
};

/** The first lines of a diff, which can be read in a few seconds. They only quote and count. */
export const headlineOf = (parts: HeadlineParts): string => {
  const files = some(parts.files, 'files', (file) => `${bare(file.path)} ${file.change}${because(file)}`);
  const items = [...files, ...stateItems(parts), ...answerItem(parts)];
  const numbers = figures(parts).join(', ');
  return inLines(items.length > 0 ? items : otherItems(parts), numbers);
};
