import type { SessionKey } from './store.ts';

/** A longer one is lost. */
export const maxNoteBytes = 5500;

/**
 * What processes at work on one store tell each other about a session, and nobody keeps. A note may be lost; those of one process come in the
 * order in which it sent them. A store whose processes have no way to reach each other loses them all.
 */
export interface Notes {
  /** To all other processes that hear notes. Waits for nobody, and fails never. */
  sendNote(key: SessionKey, text: string): void;
  /** `onHearing` is called when notes come from then on, and again after a time without connection. One's own are not heard. */
  hearNotes(hear: (key: SessionKey, text: string) => void, onHearing: () => void): () => void;
}
