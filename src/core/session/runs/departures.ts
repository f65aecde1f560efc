import type { SessionEvent } from '../../../schema/event.ts';
import type { Json } from '../../../schema/json.ts';
import type { ToolResultPart } from '../../../schema/message.ts';

/** Where a run that was played again did something else than the recorded one. */
export interface Departure {
  /** Counts what the recorded run did, from 1; of what it did not do, what the other did. */
  readonly step: number;
  readonly what: 'request' | 'call' | 'outcome' | 'end';
  /** Null where there is no counterpart. */
  readonly recorded: Json;
  readonly replayed: Json;
}

interface Act {
  readonly what: Departure['what'];
  readonly of: Json;
}

type Outcomes = ReadonlyMap<string, Act>;

/** The results that a message gives. */
export const resultsIn = (event: SessionEvent): readonly ToolResultPart[] =>
  event.type === 'message.appended' && event.payload.message.role === 'tool' ? event.payload.message.content : [];

/** What the journal tells of a call, and of one that never ran (it was cancelled while somebody was asked, say) what the model was told. */
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

/** What a run did, each call with its outcome, without what differs from one time to the next: who worked on it, and how often it was tried. */
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

/** The longest sequence that both have, as pairs of places. */
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

/** Between two places at which both agree: acts of the same kind stand for each other. First what was left out, then what was done, in order. */
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

/** `isCut`: the recording ends in the middle of the run, and all that it could be compared with was played. */
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
