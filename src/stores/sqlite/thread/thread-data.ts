import type { MessagePort } from 'node:worker_threads';
import type { ConnectionOptions } from '../file/connection.ts';

/** What a thread is started with. */
export interface ThreadData extends ConnectionOptions {
  readonly role: 'reader' | 'writer' | 'backUp';
  readonly port: MessagePort;
  /** Rung after every message to the port. */
  readonly bell: Int32Array;
  readonly release: string;
  readonly fallbackPollMs: number;
}
