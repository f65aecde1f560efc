import type { RuntimeStore } from '../core/ports/runtime-store.ts';
import type { SessionKey } from '../core/ports/store.ts';
import type { WorkspaceId } from '../schema/ids.ts';

/**
 * Manipulates the database directly, without the store. `key` names the session that owns the event, not one that
 * inherits it.
 */
export interface StoreTamper {
  /** Changes stored bytes of the payload, wherever they are stored, and nothing else. */
  changePayload(key: SessionKey, seq: number): Promise<void>;
  changeAt(key: SessionKey, seq: number, at: number): Promise<void>;
  changeTurn(key: SessionKey, seq: number, turn: number): Promise<void>;
  changeHash(key: SessionKey, seq: number): Promise<void>;
  removeEvent(key: SessionKey, seq: number): Promise<void>;
  /** Removes the payload bytes and the salt, and keeps the digest of both. */
  redact(key: SessionKey, seq: number): Promise<void>;
  removeBlob(workspace: WorkspaceId, hash: Uint8Array): Promise<void>;
  /** How many pieces the workspace stores by content hash: blobs and snapshot parts together. */
  countPieces(workspace: WorkspaceId): Promise<number>;
  /** Makes all blobs this much older. */
  ageBlobs(workspace: WorkspaceId, ms: number): Promise<void>;
  /** Everything that can be rebuilt from the log: commit paths, calls and summaries, each in a fixed order. */
  projections(workspace: WorkspaceId): Promise<readonly unknown[]>;
  /** Deletes commit paths and calls, and makes all summaries wrong or unreadable. */
  spoilProjections(workspace: WorkspaceId, summaries: 'changed' | 'unreadable'): Promise<void>;
}

/** One database for a run of the contract. It starts empty, and every test uses its own workspaces. */
export interface StoreHarness {
  /** Opens a new store on the same database, like another process or the same one after a restart. */
  open(): Promise<RuntimeStore>;
  readonly tamper: StoreTamper;
  /** Whether processes on the database cannot reach each other, so that notes are lost. */
  readonly losesNotes?: true;
  /** Removes the database; every store is closed by then. */
  destroy(): Promise<void>;
}
