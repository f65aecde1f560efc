import type { MessagePort } from 'node:worker_threads';
import type { ConnectionOptions } from '../file/connection.ts';

/** The start data of a thread. */
export interface ThreadData extends ConnectionOptions {
  readonly role: 'reader' | 'writer' | 'backUp';
  readonly port: MessagePort;
  /** Incremented after every message to the port. */
  readonly bell: Int32Array;
  readonly release: string;
  readonly fallbackPollMs: number;
}
