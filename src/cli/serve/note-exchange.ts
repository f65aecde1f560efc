import type { Notes } from '../../core/ports/notes.ts';
import type { SessionKey } from '../../core/ports/store.ts';
import type { ParentProcess, WorkerProcess } from './worker-process.ts';

type Hear = (key: SessionKey, text: string) => void;

/** Carries notes between `serve` and its worker processes, for a store that carries none between processes. */
export class NoteExchange {
  readonly #workers = new Set<WorkerProcess>();
  readonly #hearers = new Map<object, { readonly hear: Hear; readonly onHearing: () => void }>();

  readonly notes: Notes = {
    sendNote: (key, text) => this.#sendTo(this.#workers, key, text),
    hearNotes: (hear, onHearing) => {
      const id = {};
      this.#hearers.set(id, { hear, onHearing });
      queueMicrotask(onHearing);
      return () => void this.#hearers.delete(id);
    },
  };

  /** To be called when the worker listens. */
  add(worker: WorkerProcess): void {
    this.#workers.add(worker);
    void worker.ended.then(() => this.#workers.delete(worker));
    worker.onMessage((message) => {
      if (message.type !== 'note') return;
      const { text, ...key } = message as unknown as SessionKey & { readonly text: string };
      for (const { hear } of this.#hearers.values()) hear(key, text);
      this.#sendTo(
        [...this.#workers].filter((each) => each !== worker),
        key,
        text,
      );
    });
    for (const { onHearing } of this.#hearers.values()) onHearing();
  }

  #sendTo(workers: Iterable<WorkerProcess>, { workspace, session }: SessionKey, text: string): void {
    for (const worker of workers) worker.send({ type: 'note', workspace, session, text });
  }
}

/** The other end: the notes of a worker process, which go through its parent. */
export const notesThrough = (parent: ParentProcess): Notes => ({
  sendNote: ({ workspace, session }, text) => parent.send({ type: 'note', workspace, session, text }),
  hearNotes: (hear, onHearing) => {
    queueMicrotask(onHearing);
    return parent.onMessage((message) => {
      if (message.type === 'note') hear(message as unknown as SessionKey, message.text);
    });
  },
});
