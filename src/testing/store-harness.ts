import type { RuntimeStore } from '../core/ports/runtime-store.ts';
import type { SessionKey } from '../core/ports/store.ts';
import type { WorkspaceId } from '../schema/ids.ts';

/** What a person with the database's own tools could do to it. The session is the one that owns the event, not one that inherits it. */
export interface StoreTamper {
  /** Changes stored bytes of the payload, wherever they are kept, and nothing else. */
  changePayload(key: SessionKey, seq: number): Promise<void>;
  changeAt(key: SessionKey, seq: number, at: number): Promise<void>;
  changeTurn(key: SessionKey, seq: number, turn: number): Promise<void>;
  changeHash(key: SessionKey, seq: number): Promise<void>;
  removeEvent(key: SessionKey, seq: number): Promise<void>;
  /** Takes away bytes and salt and leaves the digest of both. */
  redact(key: SessionKey, seq: number): Promise<void>;
  removeBlob(workspace: WorkspaceId, hash: Uint8Array): Promise<void>;
  /** How many pieces the workspace keeps by the hash of their content: blobs and parts of snapshots together. */
  countPieces(workspace: WorkspaceId): Promise<number>;
  /** As if all blobs had been put so much earlier. */
  ageBlobs(workspace: WorkspaceId, ms: number): Promise<void>;
  /** All that can be made anew from the log: the rows that commits and calls are found by, and the summaries, each in a fixed order. */
  projections(workspace: WorkspaceId): Promise<readonly unknown[]>;
  /** Takes away the rows that commits and calls are found by, and makes summaries say something else, or nothing that can be read. */
  spoilProjections(workspace: WorkspaceId, summaries: 'changed' | 'unreadable'): Promise<void>;
}

/** One database for a run of the contract. It begins empty; every test works in workspaces of its own. */
export interface StoreHarness {
  /** A new store on the same database: another process, or the same after a restart. */
  open(): Promise<RuntimeStore>;
  readonly tamper: StoreTamper;
  /** Processes on the database have no way to reach each other: notes are lost. */
  readonly losesNotes?: true;
  /** Removes the database; every store is closed by then. */
  destroy(): Promise<void>;
}
