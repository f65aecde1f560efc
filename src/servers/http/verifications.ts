import type { Verification, VerifyProgress } from '../../core/maintenance/verify.ts';
import { eventLoop } from '../../core/ports/event-loop.ts';
import type { Session } from '../../core/runtime/session.ts';
import { PerdureError } from '../../schema/error.ts';
import { newId, type SessionId, type VerificationId } from '../../schema/ids.ts';
import type { VerificationJob } from '../../schema/views/session.ts';
import type { LongRead, ReadBudget, Reader } from './read-budget.ts';

/*
 * Verifications of large sessions, kept in the memory of this process.
 *
 *   running ──▶ done | failed
 *      └──────▶ cancelled: by a client, because no client asks for it any more, or because the server stops
 */

type Verifiable = Pick<Session, 'id' | 'verify' | 'summary'>;

/** The verifications of one reader. */
export interface OwnVerifications {
  /** A session with more events is verified as a job. */
  readonly largeEvents: number;
  /** Starts a verification, or returns the one of this key that runs. Fails with RATE_LIMITED beyond the limits. */
  start(session: Verifiable, options: { readonly quick: boolean }): Promise<VerificationJob>;
  find(session: SessionId, id: VerificationId): VerificationJob;
  cancel(session: SessionId, id: VerificationId): void;
}

interface Job {
  readonly workspace: string;
  /** What it verifies and for which key, so that a repeated request joins it. */
  readonly of: string;
  readonly ending: AbortController;
  readAt: number;
  view: VerificationJob;
}

const keptMs = 60 * 60 * 1000;
/** The maximum of each workspace, so that no neighbour's verifications push out a result. */
const maxKept = 1000;
/** A running verification ends when no client has asked for it for so long. */
const abandonedMs = 60_000;

const notFound = (session: SessionId, id: VerificationId): PerdureError =>
  new PerdureError(
    'VERIFICATION_NOT_FOUND',
    `this server process has no verification ${id} of ${session}; it is lost if the server was restarted, and dropped an hour after its end: start another with POST /v1/sessions/${session}/verifications`,
    { details: { session, verification: id } },
  );

const outcomeOf = (error: unknown): Pick<VerificationJob, 'status' | 'error'> => {
  const { code, message } =
    error instanceof PerdureError ? error : { code: 'DEFECT', message: 'internal error; search the server log' };
  return { status: 'failed', error: { code, message } };
};

export class Verifications {
  readonly #reads: ReadBudget;
  readonly #stopping: AbortSignal;
  readonly #now: () => number;
  readonly #jobs = new Map<VerificationId, Job>();
  readonly #counts = new Map<string, number>();

  constructor(reads: ReadBudget, stopping: AbortSignal, now: () => number = Date.now) {
    this.#reads = reads;
    this.#stopping = stopping;
    this.#now = now;
  }

  of(reader: Reader): OwnVerifications {
    return {
      largeEvents: this.#reads.limits.verifyEvents,
      start: (session, { quick }) => this.#start(reader, session, quick),
      find: (session, id) => this.#find(reader, session, id).view,
      cancel: (session, id) => this.#find(reader, session, id).ending.abort(),
    };
  }

  #find({ workspace }: Reader, session: SessionId, id: VerificationId): Job {
    this.#dropOld();
    const job = this.#jobs.get(id);
    if (job?.workspace !== workspace || job.view.session !== session) throw notFound(session, id);
    job.readAt = this.#now();
    return job;
  }

  async #start(reader: Reader, session: Verifiable, quick: boolean): Promise<VerificationJob> {
    const of = JSON.stringify([reader.workspace, reader.key, session.id, quick]);
    const { seq: total } = await session.summary();
    this.#dropOld();
    for (const job of this.#jobs.values()) {
      if (job.of !== of || job.view.status !== 'running') continue;
      job.readAt = this.#now();
      return job.view;
    }
    const long = this.#reads.enter(reader);
    const startedAt = this.#now();
    const job: Job = {
      workspace: reader.workspace,
      of,
      ending: new AbortController(),
      readAt: startedAt,
      view: {
        id: newId('ver', startedAt),
        session: session.id,
        status: 'running',
        ...{ phase: 'waiting', done: 0, total, startedAt },
      },
    };
    this.#jobs.set(job.view.id, job);
    this.#counts.set(job.workspace, (this.#counts.get(job.workspace) ?? 0) + 1);
    // The verification outlives this request, so neither its end nor its client stops it.
    void eventLoop.apart(() => this.#run(job, long, session, quick));
    return job.view;
  }

  async #run(job: Job, long: LongRead, session: Verifiable, quick: boolean): Promise<void> {
    const signal = AbortSignal.any([job.ending.signal, this.#stopping]);
    const onProgress = (progress: VerifyProgress): void => {
      job.view = { ...job.view, ...progress };
      if (this.#now() - job.readAt > abandonedMs) job.ending.abort();
    };
    const end = (outcome: Partial<VerificationJob>): void => {
      job.view = { ...job.view, ...outcome, endedAt: this.#now() };
    };
    try {
      await long.turn(signal);
      const verify = () => session.verify({ quick, signal, onProgress });
      const result: Verification = await eventLoop.during({ owner: job.workspace }, verify);
      end({ status: 'done', result: result as NonNullable<VerificationJob['result']> });
    } catch (error) {
      end(signal.aborted ? { status: 'cancelled' } : outcomeOf(error));
    } finally {
      long.leave();
    }
  }

  /** Drops what ended long ago, and the oldest ended ones beyond the maximum of their workspace. */
  #dropOld(): void {
    for (const [id, { workspace, view }] of this.#jobs) {
      if (view.status === 'running') continue;
      const isOld = this.#now() - (view.endedAt ?? 0) > keptMs;
      if (isOld || this.#counts.get(workspace)! > maxKept) this.#drop(id, workspace);
    }
  }

  #drop(id: VerificationId, workspace: string): void {
    this.#jobs.delete(id);
    const left = this.#counts.get(workspace)! - 1;
    if (left > 0) this.#counts.set(workspace, left);
    else this.#counts.delete(workspace);
  }
}
