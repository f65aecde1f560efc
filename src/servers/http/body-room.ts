import { PerdureError } from '../../schema/error.ts';
import { Holdings } from './holdings.ts';

/** Of the bodies of all requests under way. */
export interface BodyLimits {
  readonly workspaceBytes: number;
  readonly serverBytes: number;
}

/** What a piece takes beside its bytes, however few they are. */
const chunkBytes = 512;
/** What a workspace has for itself, so that those which fill the server leave its neighbours enough to ask. */
const shareBytes = 4 * 1024 * 1024;
const retryAfterSeconds = 1;

/** What the bodies of requests take, from when they come until their request has ended. */
export class BodyRoom {
  readonly #limits: BodyLimits;
  readonly #held = new Holdings();

  constructor(limits: BodyLimits) {
    this.#limits = limits;
  }

  /** What is taken meanwhile is given back at the end, however it ends. */
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

  #refuseBeyond(workspace: string, bytes: number): void {
    const { workspaceBytes, serverBytes } = this.#limits;
    const own = this.#held.by(workspace) + bytes;
    if (own > workspaceBytes) {
      throw new PerdureError(
        'RATE_LIMITED',
        `the bodies of requests under way in this workspace take more than ${workspaceBytes} bytes: try again when some have ended, or send fewer at once`,
        { details: { retryAfterSeconds, maxBytes: workspaceBytes } },
      );
    }
    if (own <= shareBytes || this.#held.total + bytes <= serverBytes) return;
    throw new PerdureError(
      'STORE_BUSY',
      'the server has no room for another large body at this moment: try again in a little while',
      { details: { retryAfterSeconds } },
    );
  }
}
