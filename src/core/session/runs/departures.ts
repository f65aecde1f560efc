import type { SessionEvent } from '../../../schema/event.ts';
import type { Json } from '../../../schema/json.ts';
import type { ToolResultPart } from '../../../schema/message.ts';

/** A difference between a replayed run and its recording. */
export interface Departure {
  /** The number of the act in the recorded run, from 1. If only the replay has this act, its number in the replay. */
  readonly step: number;
  readonly what: 'request' | 'call' | 'outcome' | 'end';
  /**
   * The recorded act. Null if only the replay has this act. Likewise, `replayed` is null if only the recording has it.
   */
  readonly recorded: Json;
  readonly replayed: Json;
}

interface Act {
  readonly what: Departure['what'];
  readonly of: Json;
}

type Outcomes = ReadonlyMap<string, Act>;

/** The tool results in a message. */
export const resultsIn = (event: SessionEvent): readonly ToolResultPart[] =>
  event.type === 'message.appended' && event.payload.message.role === 'tool' ? event.payload.message.content : [];

/**
 * Returns the outcome of each call. For a call that never ran, such as one cancelled while it waited for approval,
 * returns the result that the model received.
 */
const outcomesOf = (events: readonly SessionEvent[]): Outcomes => {
  const outcomes = new Map<string, Act>();
  for (const event of events) {
    for (const { callId, tool, outcome } of resultsIn(event)) {
      if (outcome !== 'ok' && !outcomes.has(callId)) outcomes.set(callId, { what: 'outcome', of: { tool, outcome } });
    }
    if (event.type !== 'tool.completed' && event.type !== 'tool.failed') continue;
    const { tool, callId } = event.payload;
    const of =
      event.type === 'tool.completed'
        ? { tool, outcome: 'ok', output: event.payload.outputHash }
        : { tool, outcome: event.payload.outcome };
    outcomes.set(callId, { what: 'outcome', of });
  }
  return outcomes;
};

/**
 * The acts of a run, each call with its outcome. Leaves out what differs between executions, such as the worker and the
 * attempts.
 */
const actsOf = (events: readonly SessionEvent[], outcomes: Outcomes): readonly Act[] => {
  let request: Act | undefined;
  return events.flatMap((event): Act[] => {
    switch (event.type) {
      case 'model.called': {
        const { model, settings, tools, instructionsHash } = event.payload;
        request = { what: 'request', of: { model, settings, tools, instructionsHash } };
        return [];
      }
      case 'model.completed':
        return request ? [request] : [];
      case 'message.appended':
        return event.payload.message.content.flatMap((part): Act[] => {
          if (part.type !== 'tool-call') return [];
          const { tool, input, callId } = part;
          const outcome = outcomes.get(callId);
          return [{ what: 'call', of: { tool, input } }, ...(outcome ? [outcome] : [])];
        });
      case 'run.ended': {
        const end = event.payload;
        const output = end.status === 'succeeded' ? end.output : null;
        const error = end.status === 'failed' ? end.error.code : null;
        return [{ what: 'end', of: { status: end.status, output, error } }];
      }
      default:
        return [];
    }
  });
};

interface Numbered extends Act {
  readonly step: number;
}

/** Returns the longest common subsequence, as pairs of indexes. */
const commonPlaces = (a: readonly string[], b: readonly string[]): readonly (readonly [number, number])[] => {
  const lengths = Array.from({ length: a.length + 1 }, () => new Uint32Array(b.length + 1));
  for (let i = a.length - 1; i >= 0; i--) {
    for (let j = b.length - 1; j >= 0; j--) {
      lengths[i]![j] = a[i] === b[j] ? lengths[i + 1]![j + 1]! + 1 : Math.max(lengths[i + 1]![j]!, lengths[i]![j + 1]!);
    }
  }
  const places: [number, number][] = [];
  for (let i = 0, j = 0; i < a.length && j < b.length; ) {
    if (a[i] === b[j]) places.push([i++, j++]);
    else if (lengths[i + 1]![j]! >= lengths[i]![j + 1]!) i++;
    else j++;
  }
  return places;
};

/**
 * Returns the differences between two points of agreement, with acts of the same kind paired. Unmatched recorded acts
 * are first, then the replayed acts in order.
 */
const departuresWithin = (old: readonly Numbered[], now: readonly Numbered[]): readonly Departure[] => {
  const left = [...old];
  const done = now.map(({ step, what, of }): Departure => {
    const index = left.findIndex((act) => act.what === what);
    const [act] = index < 0 ? [] : left.splice(index, 1);
    return { step: act?.step ?? step, what, recorded: act?.of ?? null, replayed: of };
  });
  const leftOut = left.map(({ step, what, of }): Departure => ({ step, what, recorded: of, replayed: null }));
  return [...leftOut, ...done];
};

/**
 * Returns the differences between a recording and its replay. `isCut` means that the recording ends in the middle of
 * the run, so only its calls are compared and not its end.
 */
export const departuresBetween = (
  recorded: readonly SessionEvent[],
  replayed: readonly SessionEvent[],
  isCut = false,
): readonly Departure[] => {
  const known = outcomesOf(recorded);
  const came = [...outcomesOf(replayed)].filter(([callId]) => !isCut || known.has(callId));
  const numbered = (acts: readonly Act[]) => acts.map((act, index): Numbered => ({ ...act, step: index + 1 }));
  const before = numbered(actsOf(recorded, known).filter(({ what }) => !isCut || what !== 'end'));
  const after = numbered(actsOf(replayed, new Map(came)));
  const keysOf = (acts: readonly Numbered[]) => acts.map(({ what, of }) => JSON.stringify([what, of]));
  const agreed = [...commonPlaces(keysOf(before), keysOf(after)), [before.length, after.length] as const];
  return agreed.flatMap(([i, j], index) => {
    const [fromI, fromJ] = agreed[index - 1] ?? [-1, -1];
    return departuresWithin(before.slice(fromI + 1, i), after.slice(fromJ + 1, j));
  });
};
