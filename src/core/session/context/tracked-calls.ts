import { hash } from 'node:crypto';
import type { SessionEvent } from '../../../schema/event.ts';
import type { MessageId } from '../../../schema/ids.ts';
import type { Json } from '../../../schema/json.ts';
import type { Effects, Message, ToolCallPart, ToolResultPart } from '../../../schema/message.ts';
import { canonical } from '../events/input-hash.ts';
import { unknownOutcome } from '../runs/settle-calls.ts';
import { isMadeId } from '../tracking-fold.ts';
import type { ContextEntry } from './context-units.ts';

/** A call that a loop outside Perdure journaled. */
export interface TrackedCall {
  readonly seq: number;
  readonly turn: number;
  readonly callId: string;
  readonly tool: string;
  readonly input: Json;
  readonly effects?: Effects | undefined;
  /** The id of the messages that show the call if no appended message does. */
  readonly shownAs: MessageId;
  /** How the call ended. Absent if no live event says so. */
  readonly end?: ({ readonly seq: number } & Pick<ToolResultPart, 'outcome' | 'output' | 'untrusted'>) | undefined;
}

/** The id of a message that is only shown: the same at every reading, and in the form of any message id. */
const shownId = ({ hash: of }: SessionEvent): MessageId =>
  `msg_0${hash('sha256', of, 'hex').slice(0, 25)}` as MessageId;

/** Collects tracked calls from events that are read backwards, so that a call follows its end. */
export class TrackedCalls {
  readonly #ends = new Map<string, TrackedCall['end']>();

  /** Returns the call that begins with this event. */
  take(event: SessionEvent): TrackedCall | undefined {
    const { seq, turn } = event;
    switch (event.type) {
      case 'tool.completed': {
        const { callId, output, untrusted } = event.payload;
        this.#ends.set(callId, { seq, outcome: 'ok', output, untrusted });
        return undefined;
      }
      case 'tool.failed': {
        const { callId, outcome, error, untrusted } = event.payload;
        this.#ends.set(callId, { seq, outcome, output: error.message, untrusted });
        return undefined;
      }
      case 'tool.called': {
        const { callId, tool, input, effects } = event.payload;
        const end = this.#ends.get(callId);
        this.#ends.delete(callId);
        return { seq, turn, callId, tool, input, effects, end, shownAs: shownId(event) };
      }
      default:
        return undefined;
    }
  }
}

const resultOf = ({ callId, tool, end, effects }: TrackedCall): ToolResultPart => ({
  type: 'tool-result',
  callId,
  tool,
  outcome: end?.outcome ?? 'interrupted',
  output: end ? end.output : unknownOutcome(effects),
  ...(end?.untrusted && { untrusted: true }),
});

const callPart = ({ callId, tool, input }: TrackedCall): ToolCallPart => ({ type: 'tool-call', callId, tool, input });

/** A call of an assistant message, with the tracked call and the appended result that belong to it. */
interface Slot {
  readonly part: ToolCallPart;
  readonly entry: ContextEntry;
  readonly text: string;
  tracked?: TrackedCall;
  isAnswered?: true;
}

const textOf = (input: Json): string => JSON.stringify(canonical(input));

const isSame = (slot: Slot, call: TrackedCall & { readonly text: string }): boolean => {
  const { part, entry, text } = slot;
  if (part.tool !== call.tool) return false;
  if (part.callId === call.callId) return entry.turn === call.turn || text === call.text;
  return isMadeId(call.callId) && entry.turn === call.turn && text === call.text;
};

/** Prefers the candidate with the same id, because another call of the turn may have the same input. */
const pick = <T>(candidates: readonly T[], hasId: (candidate: T) => boolean): T | undefined =>
  candidates.find(hasId) ?? candidates[0];

interface Joined {
  readonly slots: readonly Slot[];
  /** Tracked calls that no message asks for. */
  readonly alone: readonly TrackedCall[];
  /** Appended results of calls whose tracked outcome says more. */
  readonly replaced: ReadonlyMap<ToolResultPart, ToolResultPart>;
}

/** Joins calls in log order: each message, tracked call and result takes what fits among those before it. */
const join = (entries: readonly ContextEntry[], tracked: readonly TrackedCall[]): Joined => {
  const slots: Slot[] = [];
  let unanswered: Slot[] = [];
  const alone = new Map<TrackedCall, string>();
  const replaced = new Map<ToolResultPart, ToolResultPart>();
  const see = (call: TrackedCall): void => {
    const text = textOf(call.input);
    const open = unanswered.filter((slot) => !slot.tracked && isSame(slot, { ...call, text }));
    const slot = pick(open, ({ part }) => part.callId === call.callId);
    if (slot) slot.tracked = call;
    else alone.set(call, text);
  };
  const ask = (part: ToolCallPart, entry: ContextEntry): void => {
    const slot: Slot = { part, entry, text: textOf(part.input) };
    const fitting = [...alone].filter(([call, text]) => isSame(slot, { ...call, text }));
    const [found] = pick(fitting, ([call]) => call.callId === part.callId) ?? [];
    if (found) {
      slot.tracked = found;
      alone.delete(found);
    }
    slots.push(slot);
    unanswered.push(slot);
  };
  const answer = (part: ToolResultPart): void => {
    const slot = unanswered.find((each) => each.part.callId === part.callId);
    if (!slot) return;
    slot.isAnswered = true;
    unanswered = unanswered.filter((each) => each !== slot);
    const { tracked: call } = slot;
    const saysMore = part.outcome === 'interrupted' && call?.end && call.end.outcome !== 'interrupted';
    if (saysMore) replaced.set(part, { ...resultOf(call), callId: part.callId });
  };
  const waiting = tracked.values();
  let next = waiting.next().value;
  for (const entry of entries) {
    for (; next && next.seq < entry.seq; next = waiting.next().value) see(next);
    for (const part of entry.message.content) {
      if (part.type === 'tool-call') ask(part, entry);
      else if (part.type === 'tool-result') answer(part);
    }
  }
  for (; next; next = waiting.next().value) see(next);
  return { slots, alone: [...alone.keys()], replaced };
};

const withReplaced = (entry: ContextEntry, replaced: Joined['replaced']): ContextEntry => {
  const { message } = entry;
  if (message.role !== 'tool' || !message.content.some((part) => replaced.has(part))) return entry;
  return { ...entry, message: { ...message, content: message.content.map((part) => replaced.get(part) ?? part) } };
};

const notRecorded = ({ callId, tool }: ToolCallPart): ToolResultPart => ({
  type: 'tool-result',
  callId,
  tool,
  outcome: 'interrupted',
  output: 'No result was recorded for this call.',
});

/**
 * The results that a message with calls lacks and the journal has. A call without any gets its own end too, if a
 * separate call has the same id: otherwise it would take the result of that call.
 */
const missingResults = (slots: readonly Slot[], shownIds: ReadonlySet<string>): readonly ContextEntry[] => {
  const content = slots.flatMap(({ part, isAnswered, tracked }): ToolResultPart[] => {
    if (isAnswered) return [];
    if (tracked) return [{ ...resultOf(tracked), callId: part.callId }];
    return shownIds.has(part.callId) ? [notRecorded(part)] : [];
  });
  const [first] = slots;
  if (!first || content.length === 0) return [];
  const { seq, turn, message } = first.entry;
  return [{ seq, turn, message: { id: message.id, role: 'tool', content } }];
};

const shownCall = (call: TrackedCall): readonly ContextEntry[] => {
  const { seq, turn, shownAs: id } = call;
  return [
    { seq, turn, message: { id, role: 'assistant', content: [callPart(call)] } },
    { seq, turn, message: { id, role: 'tool', content: [resultOf(call)] } },
  ];
};

/**
 * Adds tracked calls to the messages of a context, both in log order. A call that a message asks for gets its result
 * from the journal if no message brings it. Any other call is shown by messages of its own.
 */
export const joinTracked = (
  entries: readonly ContextEntry[],
  tracked: readonly TrackedCall[],
): readonly ContextEntry[] => {
  if (tracked.length === 0) return entries;
  const { slots, alone, replaced } = join(entries, tracked);
  const slotsOf = Map.groupBy(slots, ({ entry }) => entry);
  const shownIds = new Set(alone.map(({ callId }) => callId));
  const shown = entries.flatMap((entry) => [
    withReplaced(entry, replaced),
    ...missingResults(slotsOf.get(entry) ?? [], shownIds),
  ]);
  // The sort is stable, so that a result stays after its call.
  return [...shown, ...alone.flatMap(shownCall)].toSorted((a, b) => a.seq - b.seq);
};

/** The messages that show a call which no appended message asks for. */
export const shownMessages = (call: TrackedCall): readonly Message[] => shownCall(call).map(({ message }) => message);
