import type { Matched } from '../../core/session/diff/compare-sides.ts';
import type { SideCall, SideCommit, SideOutcome } from '../../core/session/diff/side.ts';
import type { WordPart } from '../../core/session/diff/word-diff.ts';
import type { DifferingMessage, SessionDiff } from '../../core/state/diff.ts';
import type { FileDifference } from '../../core/state/file-differences.ts';
import type { Said } from '../../schema/said.ts';
import { truncate } from '../terminal/display-width.ts';
import { hangingIndent } from '../terminal/hanging-indent.ts';
import { printableLine } from '../terminal/printable.ts';
import type { Style, Terminal } from '../terminal/terminal.ts';
import { committedBy } from './commit-table.ts';
import { duration } from './quantity.ts';
import { renderUnified } from './render-unified.ts';
import { amountTexts } from './usage-text.ts';

type Match = Matched<unknown>['match'];
const signs: Readonly<Record<Match, readonly [sign: string, style: Style]>> = {
  same: ['=', 'dim'],
  changed: ['~', 'yellow'],
  'only-before': ['-', 'red'],
  'only-after': ['+', 'green'],
};
const indent = '    ';
const maxQuote = 300;
const maxInput = 120;
/** A longer part of an answer that both sides have is shortened to its ends. */
const maxSame = 120;

const signed = (match: Match, text: string, out: Terminal): readonly string[] => {
  const [sign, style] = signs[match];
  return hangingIndent(`  ${sign} `, text, out.columns, `  ${out.style(style, sign)} `);
};

const quoteLines = (text: string | undefined, out: Terminal, label = ''): readonly string[] => {
  const line = printableLine(text ?? '');
  return line === '' ? [] : hangingIndent(`${indent}${label}`, `"${truncate(line, maxQuote)}"`, out.columns);
};

const saidText = (said: Said | undefined): string | undefined => (said?.text?.trim() ? said.text : said?.reasoning);

/** What was said for an item: on one side, or on both if it differs. */
const reasonLines = (before: string | undefined, after: string | undefined, out: Terminal): readonly string[] => {
  if (before === undefined || after === undefined || before === after) return quoteLines(after ?? before, out);
  return [...quoteLines(before, out, 'was: '), ...quoteLines(after, out, 'now: ')];
};

const ends = (text: string): string =>
  text.length <= maxSame ? text : `${text.slice(0, maxSame / 2)} … ${text.slice(-maxSame / 2)}`.toWellFormed();

const lettersOf = (words: readonly WordPart[], change: WordPart['change']): number =>
  words.reduce((sum, each) => sum + (each.change === change ? each.text.replaceAll(/\s/g, '').length : 0), 0);

const textWithout = (words: readonly WordPart[], left: WordPart['change']): string =>
  ends(words.flatMap(({ text, change }) => (change === left ? [] : text)).join(''));

/** Marks removed and added words as git does: `[-old-]{+new+}`. Texts with little in common are shown one after the other. */
const wordsText = (words: readonly WordPart[]): string => {
  const same = lettersOf(words, 'same');
  if (same < lettersOf(words, 'removed') && same < lettersOf(words, 'added')) {
    return `${textWithout(words, 'added')} → ${textWithout(words, 'removed')}`;
  }
  return words
    .map(({ text, change }) => {
      if (change === 'same') return ends(text);
      return change === 'removed' ? `[-${text}-]` : `{+${text}+}`;
    })
    .join('');
};

const answerLines = ({ answer }: SessionDiff, out: Terminal): readonly string[] => {
  if (!answer) return [];
  const { before, after, words } = answer;
  if (before && after) return signed('changed', printableLine(wordsText(words)), out);
  const [match, text] = after ? (['only-after', after.text] as const) : (['only-before', before!.text] as const);
  return signed(match, truncate(printableLine(text), maxQuote * 3), out);
};

/** A message in one line, or its words that differ. */
const messageLine = (message: DifferingMessage, out: Terminal): readonly string[] => {
  const { role, text, reasoning, brokenOff } = (message.after ?? message.before)!;
  const said = message.words ? wordsText(message.words) : text.trim() ? text : `(${reasoning ?? 'no text'})`;
  const about = brokenOff ? `${role}, broken off` : role;
  return signed(message.match, truncate(printableLine(`${about}: ${said}`), maxQuote * 2), out);
};

/** The messages that neither the answers nor the calls show already. */
const messageLines = ({ messages, answer }: SessionDiff, out: Terminal): readonly string[] => {
  const answers = new Set([answer?.before?.message, answer?.after?.message]);
  const isShown = ({ before, after }: DifferingMessage): boolean =>
    [before, after].every((each) => !each || answers.has(each.id) || each.calls !== undefined);
  return messages.filter((message) => !isShown(message)).flatMap((message) => messageLine(message, out));
};

const resultOf = ({ outcome, error }: SideCall): string => (error ? `${outcome}: ${error}` : outcome);

const callLine = ({ match, before, after }: Matched<SideCall>): string => {
  const { tool, input } = (after ?? before)!;
  const inputs =
    before && after && before.input !== after.input
      ? [before.input, after.input].map((each) => truncate(each ?? '', maxInput)).join(' → ')
      : truncate(input ?? '', maxInput);
  const [was, is] = [before && resultOf(before), after && resultOf(after)];
  const isMoved = was !== undefined && is !== undefined && was !== is;
  const isOutput = match === 'changed' && !isMoved && before?.output !== after?.output;
  const end = isOutput
    ? `${truncate(before?.output ?? '', maxInput)} → ${truncate(after?.output ?? '', maxInput)}`
    : truncate(isMoved ? `${was} → ${is}` : (is ?? was)!, maxQuote);
  return printableLine(`${tool} ${inputs}: ${end}`);
};

const callLines = ({ calls }: SessionDiff, out: Terminal): readonly string[] => {
  let last: string | undefined;
  return calls.flatMap(({ match, before, after }) => {
    const [was, is] = [saidText(before?.said), saidText(after?.said)];
    // Calls of one message are asked for by the same words.
    const asked = after?.said?.message ?? before?.said?.message;
    const isNew = (match !== 'same' || was !== is) && asked !== last;
    if (isNew) last = asked;
    return [...signed(match, callLine({ match, before, after }), out), ...(isNew ? reasonLines(was, is, out) : [])];
  });
};

const reasonOf = (commit: SideCommit | undefined): string | undefined => saidText(commit?.said) ?? commit?.why;

const fileMatch = ({ change }: FileDifference): Match =>
  change === 'created' ? 'only-after' : change === 'deleted' ? 'only-before' : 'changed';

const fileLines = ({ files, unread }: SessionDiff, out: Terminal): readonly string[] => [
  ...files.flatMap((file) => {
    const { path, change, from, before, after, unified } = file;
    const commit = after ?? before;
    const by = commit ? ` by ${committedBy(commit)}${after ? '' : ', before'}` : '';
    const line = printableLine(`${path} ${change}${from === undefined ? '' : ` from ${from}`}`);
    return [
      ...signed(fileMatch(file), `${line}${by}`, out),
      ...reasonLines(reasonOf(before), reasonOf(after), out),
      ...(unified ? renderUnified(unified, out) : []),
    ];
  }),
  ...(unread.files === undefined
    ? []
    : hangingIndent('  ! ', `not compared: ${printableLine(unread.files)}`, out.columns)),
];

/** Commits that left the state as it is on the other side, so that no entry shows them. */
const commitLines = ({ committed, patch }: SessionDiff, out: Terminal): readonly string[] =>
  committed
    .filter(({ before, after }) => patch.length === 0 && !(after ?? before)?.cause)
    .flatMap(({ match, before, after }) => {
      const commit = (after ?? before)!;
      const entries = commit.entries.map(printableLine).join(' ');
      const why = commit.why === undefined ? '' : `: ${printableLine(commit.why)}`;
      return signed(match, `${truncate(entries, maxQuote)} by ${committedBy(commit)}${why}`, out);
    });

const outcomeText = (outcome: SideOutcome | undefined): string =>
  outcome ? `${outcome.status}${outcome.reason ? ` (${printableLine(outcome.reason)})` : ''}` : 'none';

const moved = (before: string, after: string): string => (before === after ? after : `${before} → ${after}`);

const usageLines = ({ usage: { before, after }, models, outcome }: SessionDiff, out: Terminal): readonly string[] => {
  const modelsOf = (all: SessionDiff['models']['before']): string =>
    [...new Set(all.map(({ model }) => printableLine(model)))].join(', ') || 'none';
  const jsonOf = (value: unknown): string => printableLine(JSON.stringify(value) ?? 'none');
  const both = (name: 'requests' | 'tokens' | 'costUsd' | 'durationMs', text: (amount: number) => string): string =>
    moved(text(before[name]), text(after[name]));
  const isUsed = [before, after].some((each) => each.requests + each.tokens + each.durationMs > 0);
  const figures = [
    `requests ${both('requests', amountTexts.turns)}`,
    `tokens ${both('tokens', amountTexts.tokens)}`,
    ...(before.costUsd + after.costUsd > 0 ? [`USD ${both('costUsd', amountTexts.usd)}`] : []),
    `time ${both('durationMs', duration)}`,
  ];
  const lines = [
    ...(models.before.length + models.after.length > 0
      ? [`model ${moved(modelsOf(models.before), modelsOf(models.after))}`]
      : []),
    ...models.settings.map(
      ({ name, before: was, after: is }) => `${printableLine(name)} ${moved(jsonOf(was), jsonOf(is))}`,
    ),
    ...(isUsed ? [figures.join(', ')] : []),
    ...(outcome.before || outcome.after
      ? [`outcome ${moved(outcomeText(outcome.before), outcomeText(outcome.after))}`]
      : []),
  ];
  return lines.flatMap((line) => hangingIndent('  ', line, out.columns));
};

const unreadLines = ({ unread: { before, after } }: SessionDiff, out: Terminal): readonly string[] =>
  before + after === 0
    ? []
    : hangingIndent('  ', `events not compared, too many or damaged: ${before} before, ${after} after`, out.columns);

const titled = (title: string, lines: readonly string[], out: Terminal): readonly string[] =>
  lines.length > 0 ? [out.style('bold', title), ...lines] : [];

/** Shows what happened differently: answers, messages, calls and files, each with the words that asked for it. */
export const renderHappened = (diff: SessionDiff, out: Terminal): readonly string[] => [
  ...titled('answer', answerLines(diff, out), out),
  ...titled('messages', messageLines(diff, out), out),
  ...titled('calls', callLines(diff, out), out),
  ...titled('files', fileLines(diff, out), out),
  ...titled('commits', commitLines(diff, out), out),
];

export const renderUsed = (diff: SessionDiff, out: Terminal): readonly string[] => [
  ...titled('used', usageLines(diff, out), out),
  ...titled('left out', unreadLines(diff, out), out),
];
