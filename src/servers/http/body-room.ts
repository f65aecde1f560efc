import { PerdureError } from '../../schema/error.ts';
import { Holdings } from './holdings.ts';

/** Limits on the total size of all request bodies in progress, and likewise of all large answers. */
export interface BodyLimits {
  readonly workspaceBytes: number;
  readonly serverBytes: number;
}

/** Memory overhead of a chunk, whatever its size. */
const chunkBytes = 512;
/** Every workspace may use this much, even when others have filled the server. */
const shareBytes = 4 * 1024 * 1024;
const retryAfterSeconds = 1;

/** Counts the memory of each request body from its arrival until its request ends, or of each answer until it is sent. */
export class BodyRoom {
  readonly #limits: BodyLimits;
  readonly #held = new Holdings();

  constructor(limits: BodyLimits) {
    this.#limits = limits;
  }

  /** Runs `work`, and afterwards releases all memory that it was charged, even if it fails. */
  async during<T>(workspace: string, work: (take: (chunk: Uint8Array) => void) => Promise<T>): Promise<T> {
    let taken = 0;
    const take = ({ length }: Uint8Array): void => {
      const bytes = length + chunkBytes;
      this.#refuseBeyond(workspace, bytes);
      this.#held.add(workspace, bytes);
      taken += bytes;
    };
    try {
      return await work(take);
    } finally {
      this.#held.add(workspace, -taken);
    }
  }

  /** Counts memory until the returned function is called. Fails if there is no room. */
  hold(workspace: string, bytes: number): () => void {
    this.#refuseBeyond(workspace, bytes);
    this.#held.add(workspace, bytes);
    let isOver = false;
    return () => {
      if (isOver) return;
      isOver = true;
      this.#held.add(workspace, -bytes);
    };
  }

  #refuseBeyond(workspace: string, bytes: number): void {
    const { workspaceBytes, serverBytes } = this.#limits;
    const own = this.#held.by(workspace) + bytes;
    if (own > workspaceBytes) {
      throw new PerdureError(
        'RATE_LIMITED',
        `the bodies under way in this workspace exceed ${workspaceBytes} bytes: retry when some have ended, or send or read fewer at once`,
        { details: { retryAfterSeconds, maxBytes: workspaceBytes } },
      );
    }
    if (own <= shareBytes || this.#held.total + bytes <= serverBytes) return;
    throw new PerdureError(
      'STORE_BUSY',
      'the server has no memory left for another large body: retry in a few seconds',
      { details: { retryAfterSeconds } },
    );
  }
}
