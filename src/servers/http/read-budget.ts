import { PerdureError } from '../../schema/error.ts';
import { Holdings } from './holdings.ts';

/** Limits on long reads, that is, those which take longer than `freeMs` of the server's event loop. */
export interface ReadLimits {
  /** The time that any read may take. Only longer reads count against the other limits. */
  readonly freeMs: number;
  /** Maximum number of long reads of one key, running or waiting. */
  readonly perKey: number;
  /** Maximum number of long reads of all keys of a workspace, running or waiting. */
  readonly perWorkspace: number;
  /** Maximum number of long reads of a workspace that run at the same time. */
  readonly atOnce: number;
  /** Maximum number of long reads of all workspaces that run at the same time. */
  readonly onServer: number;
  /** A session with more events is verified as a job. */
  readonly verifyEvents: number;
}

export interface Reader {
  readonly workspace: string;
  readonly key: string;
}

/** A long read that counts against the limits until it leaves. */
export interface LongRead {
  /** Waits until the read may run. Fails with the reason of the signal if that aborts first. */
  turn(signal?: AbortSignal): Promise<void>;
  leave(): void;
}

interface Waiting {
  readonly workspace: string;
  readonly begin: () => void;
}

/** Value of Retry-After, in seconds. It is a guess, because the end of a read is not predictable. */
const retryAfterSeconds = 2;

const refused = (whose: string, limit: number): PerdureError =>
  new PerdureError(
    'RATE_LIMITED',
    `${whose} has reached its limit of ${limit} long reads: retry in ${retryAfterSeconds} s, or read less at once`,
    { details: { retryAfterSeconds } },
  );

/** Admits long reads: few at a time, in turns between workspaces, and only so many of a key and of a workspace. */
export class ReadBudget {
  readonly limits: ReadLimits;
  readonly #byKey = new Holdings();
  readonly #byWorkspace = new Holdings();
  readonly #running = new Holdings();
  readonly #waiting = new Set<Waiting>();

  constructor(limits: ReadLimits) {
    this.limits = limits;
  }

  /** Counts a read. Fails with RATE_LIMITED if its key or workspace has reached a limit. */
  enter({ workspace, key }: Reader): LongRead {
    const { perKey, perWorkspace } = this.limits;
    const name = `${workspace}/${key}`;
    if (this.#byKey.by(name) >= perKey) throw refused('this key', perKey);
    if (this.#byWorkspace.by(workspace) >= perWorkspace) throw refused('the workspace', perWorkspace);
    this.#byKey.add(name, 1);
    this.#byWorkspace.add(workspace, 1);
    let isRunning = false;
    return {
      turn: async (signal) => {
        await this.#turn(workspace, signal);
        isRunning = true;
      },
      leave: () => {
        this.#byKey.add(name, -1);
        this.#byWorkspace.add(workspace, -1);
        if (isRunning) this.#end(workspace);
      },
    };
  }

  async #turn(workspace: string, signal: AbortSignal | undefined): Promise<void> {
    const turn = Promise.withResolvers<void>();
    const waiting: Waiting = { workspace, begin: turn.resolve };
    const stop = (): void => {
      if (this.#waiting.delete(waiting)) turn.reject(signal!.reason);
    };
    signal?.throwIfAborted();
    signal?.addEventListener('abort', stop, { once: true });
    this.#waiting.add(waiting);
    this.#beginNext();
    try {
      await turn.promise;
    } finally {
      signal?.removeEventListener('abort', stop);
    }
  }

  #end(workspace: string): void {
    this.#running.add(workspace, -1);
    this.#beginNext();
  }

  /** Begins the read that has waited longest among those whose workspace has the fewest running. */
  #beginNext(): void {
    const { atOnce, onServer } = this.limits;
    let next: Waiting | undefined;
    for (const each of this.#waiting) {
      if (!next || this.#running.by(each.workspace) < this.#running.by(next.workspace)) next = each;
    }
    if (!next || this.#running.by(next.workspace) >= atOnce || this.#running.total >= onServer) return;
    this.#waiting.delete(next);
    this.#running.add(next.workspace, 1);
    next.begin();
  }
}
