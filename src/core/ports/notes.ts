import type { SessionKey } from './store.ts';

/** A longer note is dropped. */
export const maxNoteBytes = 5500;

/**
 * Transient messages about a session between the processes of one store. A note can be lost. Notes of one process
 * arrive in the order in which it sent them. A store whose processes cannot reach each other drops all notes.
 */
export interface Notes {
  /** Sends a note to all other processes that listen. Returns at once and never fails. */
  sendNote(key: SessionKey, text: string): void;
  /**
   * Listens to the notes of other processes. `onHearing` is called once notes can arrive, and again after each
   * reconnect.
   */
  hearNotes(hear: (key: SessionKey, text: string) => void, onHearing: () => void): () => void;
}
