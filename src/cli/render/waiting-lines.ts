import { type Waiting, type WaitingEntry, type WaitingKind, waitingKinds } from '../../schema/waiting.ts';
import { hangingIndent } from '../terminal/hanging-indent.ts';
import { printableLine } from '../terminal/printable.ts';
import type { Terminal } from '../terminal/terminal.ts';
import { isoTime } from './time.ts';

const nameOf: Readonly<Record<WaitingKind, string>> = {
  approvals: 'approval',
  questions: 'question',
  calls: 'call',
  subagents: 'subagent of',
  inputs: 'input of',
  runs: 'run',
  handoffs: 'handoff',
};

const untilOf: Partial<Readonly<Record<WaitingKind, string>>> = { inputs: 'not before' };

const lineOf = (kind: WaitingKind, id: string, entry: WaitingEntry): string => {
  const { what, since, until, tool, mayAnswer, notRequester } = entry;
  const about = [
    `since ${isoTime(since.at)} (seq ${since.seq})`,
    ...(until === undefined ? [] : [`${untilOf[kind] ?? 'until'} ${isoTime(until)}`]),
    ...(mayAnswer ? [`for ${mayAnswer.join(', ')}`] : []),
    ...(notRequester ? ['but not those who asked for it'] : []),
  ];
  return `${nameOf[kind]} ${id}:${tool === undefined ? '' : ` ${tool}`} ${what}; ${about.join('; ')}`;
};

/** What a session waits for, for people: one entry after the other, and how many are left out. */
export const renderWaiting = (waiting: Waiting, out: Terminal): readonly string[] => {
  const lines = waitingKinds.flatMap((kind) => [
    ...Object.entries(waiting[kind]).map(([id, entry]) => lineOf(kind, id, entry)),
    ...(waiting.more[kind] === undefined ? [] : [`${waiting.more[kind]} more ${kind}`]),
  ]);
  if (lines.length === 0) return [];
  return [
    out.style('bold', 'waiting'),
    ...lines.flatMap((line) => hangingIndent('  ', printableLine(line), out.columns)),
  ];
};
