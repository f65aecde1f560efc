import { type Waiting, type WaitingEntry, type WaitingKind, waitingKinds } from '../../../schema/waiting.ts';
import { quoted } from '../runs/handoff-fold.ts';

const nameOf: Readonly<Record<WaitingKind, string>> = {
  approvals: 'approval',
  questions: 'question',
  calls: 'call',
  subagents: 'subagent of call',
  inputs: 'input of run',
  runs: 'run',
  handoffs: 'handoff',
};

/** A caller can name a time beyond the range of dates. */
const timeOf = (at: number): string => {
  const date = new Date(at);
  return Number.isNaN(date.getTime()) ? String(at) : date.toISOString();
};

/** The input of a call in flight is left out, because it was clipped before secrets could be removed from it. */
const lineOf = (kind: WaitingKind, id: string, { what, since, until, tool, mayAnswer }: WaitingEntry): string => {
  const about = [
    ...(tool === undefined ? [] : [quoted(tool)]),
    ...(kind === 'calls' ? [] : [quoted(what)]),
    `since ${timeOf(since.at)}`,
    ...(until === undefined ? [] : [`until ${timeOf(until)}`]),
    ...(mayAnswer === undefined ? [] : [`for ${quoted(mayAnswer.join(' or '))}`]),
  ];
  return `${nameOf[kind]} ${quoted(id)}: ${about.join(', ')}`;
};

/** What the session waits for, as lines for a model. Texts of people and tools are quoted. */
export const waitingLines = (waiting: Waiting): readonly string[] =>
  waitingKinds.flatMap((kind) => Object.entries(waiting[kind]).map(([id, entry]) => lineOf(kind, id, entry)));
