import type { Readable, Writable } from 'node:stream';

// biome-ignore lint/suspicious/noExplicitAny: the protocol's answers have a different shape for every method
type Answer = any;
type Listener = (method: string, params: Answer) => void;

interface Message {
  readonly id?: number;
  readonly sessionId?: string;
  readonly method?: string;
  readonly params?: unknown;
  readonly result?: unknown;
  readonly error?: { readonly message: string };
}

/** The DevTools protocol over the browser's two pipes: JSON messages, each followed by a zero byte. */
export class DevTools {
  readonly #to: Writable;
  readonly #waiting = new Map<number, PromiseWithResolvers<Answer>>();
  readonly #listeners = new Map<string, Listener>();
  #last = 0;

  constructor(to: Writable, from: Readable) {
    this.#to = to;
    let rest = '';
    from.setEncoding('utf8').on('data', (text: string) => {
      const messages = (rest + text).split('\0');
      rest = messages.pop()!;
      for (const message of messages) this.#take(JSON.parse(message) as Message);
    });
    to.on('error', () => {}); // the browser has exited; pending requests are rejected elsewhere
    from.on('close', () => {
      for (const { reject } of this.#waiting.values()) reject(new Error('the browser has exited'));
    });
  }

  ask(method: string, params: object = {}, sessionId?: string): Promise<Answer> {
    const id = ++this.#last;
    const answer = Promise.withResolvers<Answer>();
    this.#waiting.set(id, answer);
    this.#to.write(`${JSON.stringify({ id, method, params, ...(sessionId && { sessionId }) })}\0`);
    return answer.promise;
  }

  /** Registers a listener for all events of one page. */
  listen(sessionId: string, listener: Listener): void {
    this.#listeners.set(sessionId, listener);
  }

  #take({ id, sessionId = '', method, params, result, error }: Message): void {
    if (id === undefined) {
      this.#listeners.get(sessionId)?.(method!, params);
      return;
    }
    const answer = this.#waiting.get(id)!;
    this.#waiting.delete(id);
    if (error) answer.reject(new Error(error.message));
    else answer.resolve(result);
  }
}
