import type { SessionKey } from './store.ts';

/** The maximum size of a note. A larger note is dropped. */
export const maxNoteBytes = 5500;

/**
 * Notes are transient messages about a session between the processes that share one store. A note can be lost. The
 * notes of one process arrive in the order in which they were sent. A store whose processes cannot reach each other
 * drops all notes.
 */
export interface Notes {
  /** Sends a note to all other processes that listen. Returns immediately and never fails. */
  sendNote(key: SessionKey, text: string): void;
  /**
   * Listens to the notes of other processes. `onHearing` is called once notes can arrive, and again after each
   * reconnect. Returns a function that ends the listening.
   */
  hearNotes(hear: (key: SessionKey, text: string) => void, onHearing: () => void): () => void;
}
