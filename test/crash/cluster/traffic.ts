import { setTimeout as sleep } from 'node:timers/promises';
import type { Client, ClientSession } from '../../../src/client/index.ts';
import { isPerdureError } from '../../../src/schema/error.ts';

/** Whether the error goes away once the server or the database is back. */
const isPassing = (error: unknown): boolean =>
  isPerdureError(error) && ['SERVER_UNAVAILABLE', 'STORE_UNAVAILABLE', 'STORE_BUSY'].includes(error.code);
const againMs = 200;
/** Time to wait for an answer. On a busy machine clients wait long for a connection. */
const patienceMs = 300_000;

export interface Sent {
  readonly text: string;
  readonly run: string;
}

/** Follows a session on one server from its first event. */
class Reader {
  readonly server: number;
  readonly seen: (readonly [seq: number, hash: string])[] = [];
  readonly #leaving = new AbortController();
  readonly #reading: Promise<void>;
  failed: unknown;

  constructor(server: number, session: ClientSession, onRunEnded: (run: string) => void) {
    this.server = server;
    const read = async (): Promise<void> => {
      const { signal } = this.#leaving;
      for await (const { seq, hash, type, run } of session.events({ after: 0, follow: true, signal })) {
        this.seen.push([seq, hash]);
        if (type === 'run.ended' && run) onRunEnded(run);
      }
    };
    this.#reading = read().catch((error) => {
      this.failed = error;
    });
  }

  get last(): number {
    return this.seen.at(-1)?.[0] ?? 0;
  }

  async leave(): Promise<void> {
    this.#leaving.abort();
    await this.#reading;
  }
}

/** A session and its clients. Inputs are sent through either server, and one reader follows the session on each. */
export class Conversation {
  readonly workspace: string;
  readonly id: string;
  readonly takesNotes: boolean;
  readonly readers: readonly Reader[];
  /** The acknowledged inputs, in order of acknowledgement. */
  readonly sent: Sent[] = [];
  /** How often the test had to resend an input, beyond the client's own retries. */
  again = 0;
  readonly #handles: readonly ClientSession[];
  readonly #ended = new Set<string>();
  readonly #onEnded: () => void;

  private constructor(workspace: string, handles: readonly ClientSession[], takesNotes: boolean, onEnded: () => void) {
    this.workspace = workspace;
    this.id = handles[0]!.id;
    this.takesNotes = takesNotes;
    this.#handles = handles;
    this.#onEnded = onEnded;
    this.readers = handles.map((handle, server) => new Reader(server, handle, (run) => this.#end(run)));
  }

  static async open(
    workspace: string,
    clients: readonly Client[],
    takesNotes: boolean,
    onEnded: () => void,
  ): Promise<Conversation> {
    const { id } = await clients[0]!.sessions.open({ agent: 'clerk' });
    const handles = await Promise.all(clients.map((client) => client.sessions.get(id)));
    return new Conversation(workspace, handles, takesNotes, onEnded);
  }

  /**
   * Sends the input, alternating between the servers, until it is acknowledged. With `repeats` it sends once more,
   * like a client that missed the answer.
   */
  async send(turn: number, { first, repeats }: { readonly first: number; readonly repeats: boolean }): Promise<void> {
    const text = `Turn ${turn}${this.takesNotes ? ', and note it' : ''}`;
    const deadline = performance.now() + patienceMs;
    for (let attempt = 0; ; attempt++) {
      const handle = this.#handles[(first + attempt) % this.#handles.length]!;
      try {
        const { id } = await handle.send(text, { idempotencyKey: `turn-${turn}` });
        this.sent.push({ text, run: id });
        if (!repeats || this.sent.filter((each) => each.text === text).length > 1) return;
      } catch (error) {
        if (!isPassing(error) || performance.now() > deadline) throw error;
        this.again++;
        await sleep(againMs);
      }
    }
  }

  get open(): readonly Sent[] {
    return this.sent.filter(({ run }) => !this.#ended.has(run));
  }

  #end(run: string): void {
    if (this.#ended.has(run)) return;
    this.#ended.add(run);
    this.#onEnded();
  }
}
