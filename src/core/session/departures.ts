import type { SessionEvent } from '../../schema/event.ts';
import type { Json } from '../../schema/json.ts';

/** Where a run that was played again did something else than the recorded one. */
export interface Departure {
  /** Counts what the run did, from 1. */
  readonly step: number;
  readonly what: 'request' | 'call' | 'outcome' | 'end';
  readonly recorded: Json;
  readonly replayed: Json;
}

interface Act {
  readonly what: Departure['what'];
  readonly of: Json;
}

/** What a run did, without what differs from one time to the next. */
const actsOf = (events: readonly SessionEvent[]): readonly Act[] =>
  events.flatMap((event): Act[] => {
    switch (event.type) {
      case 'model.called': {
        const { model, settings, tools, instructionsHash } = event.payload;
        return [{ what: 'request', of: { model, settings, tools, instructionsHash } }];
      }
      case 'tool.called':
        return [{ what: 'call', of: { tool: event.payload.tool, input: event.payload.input } }];
      case 'tool.completed':
        return [{ what: 'outcome', of: { tool: event.payload.tool, outcome: 'ok', output: event.payload.outputHash } }];
      case 'tool.failed':
        return [{ what: 'outcome', of: { tool: event.payload.tool, outcome: event.payload.outcome } }];
      case 'run.ended': {
        const { status, output = null, error } = event.payload;
        return [{ what: 'end', of: { status, output, error: error?.code ?? null } }];
      }
      default:
        return [];
    }
  });

/** Retries of the model and of tools are the weather, not the run. */
export const departuresBetween = (
  recorded: readonly SessionEvent[],
  replayed: readonly SessionEvent[],
): readonly Departure[] => {
  const [before, after] = [actsOf(recorded), actsOf(replayed)];
  return Array.from({ length: Math.max(before.length, after.length) }, (_, index) => ({
    index,
    old: before[index],
    now: after[index],
  }))
    .filter(({ old, now }) => JSON.stringify(old) !== JSON.stringify(now))
    .map(({ index, old, now }) => ({
      step: index + 1,
      what: (now ?? old)!.what,
      recorded: old?.of ?? null,
      replayed: now?.of ?? null,
    }));
};
