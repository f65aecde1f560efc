import type { ModelDelta } from '../ports/model.ts';
import type { SessionKey } from '../ports/store.ts';

/** What is shown while it happens and is not part of the log. */
export type Preview =
  | ({ readonly type: 'delta'; readonly message: string } & ModelDelta)
  | { readonly type: 'progress'; readonly callId: string; readonly text: string };

type Listener = (preview: Preview) => void;

const nameOf = ({ workspace, session }: SessionKey): string => `${workspace}/${session}`;

/** Shows what is being written and done to those who look on in this process. The log knows nothing of it. */
export class Previews {
  readonly #listeners = new Map<string, Set<Listener>>();

  listen(key: SessionKey, listener: Listener): () => void {
    const name = nameOf(key);
    const all = this.#listeners.get(name) ?? new Set();
    this.#listeners.set(name, all.add(listener));
    return () => {
      all.delete(listener);
      if (all.size === 0) this.#listeners.delete(name);
    };
  }

  tell(key: SessionKey, preview: Preview): void {
    for (const listener of this.#listeners.get(nameOf(key)) ?? []) listener(preview);
  }
}
