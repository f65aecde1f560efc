import type { Session } from '../../core/runtime/session.ts';
import type { SessionEvent } from '../../schema/event.ts';
import { holderName } from '../../schema/handoff.ts';
import { foldView, noRuns, type RunsView } from './runs-view.ts';

export interface Runs {
  readonly view: RunsView;
  /** The newest event that the view includes. */
  readonly seq: number;
  /** Seq at which the current run, or else the last one, was admitted. Undefined if there never was a run. */
  readonly newestAt?: number | undefined;
}

const firstWindow = 512;

type Admitted = SessionEvent<'input.admitted'>;
const isAdmitted = (event: SessionEvent): event is Admitted => event.type === 'input.admitted';

const begunIn = (events: readonly SessionEvent[]): ReadonlySet<string> =>
  new Set(events.flatMap(({ type, run }) => (type === 'run.started' && run ? [run] : [])));

/**
 * Index of the last admission whose input has begun, or -1. Inputs begin in the order of their admission, so no
 * earlier input is still waiting.
 */
const groundOf = (events: readonly SessionEvent[]): number => {
  const begun = begunIn(events);
  return events.findLastIndex((event) => isAdmitted(event) && begun.has(event.payload.run));
};

const newestAt = (events: readonly SessionEvent[], { run }: RunsView): number | undefined => {
  const begun = begunIn(events);
  const forkedAt = events.findLast(({ type }) => type === 'session.forked')?.seq ?? 0;
  const admitted = events.filter(isAdmitted).filter(({ seq, payload }) => seq > forkedAt || begun.has(payload.run));
  return (admitted.find(({ payload }) => payload.run === run?.id) ?? admitted.at(-1))?.seq;
};

/** Reads the state of the runs from the end of the log backwards, only as far as open runs require. */
export const readRuns = async (session: Session): Promise<Runs> => {
  const { seq, status, holder, handoff } = await session.summary();
  let events: SessionEvent[] = [];
  let from = seq;
  for (let size = firstWindow; from > 0 && groundOf(events) < 0; size *= 4) {
    const after = Math.max(0, from - size);
    events = [...(await Array.fromAsync(session.events({ after, at: { seq: from } }))), ...events];
    from = after;
  }
  const recent = events.slice(Math.max(0, groundOf(events)));
  const view = { ...recent.reduce(foldView, noRuns), status, holder, heldBy: holderName(handoff) };
  return { view, seq, newestAt: newestAt(events, view) };
};
