export const engineNames = ['sqlite', 'postgres'] as const;
export type EngineName = (typeof engineNames)[number];

/** An event whose expensive parts were prepared in advance. */
export interface BareRow {
  readonly session: string;
  readonly seq: number;
  readonly opensTurn: boolean;
  readonly salt: Uint8Array;
  readonly hash: Uint8Array;
  readonly payload: Uint8Array;
}

/** The upper bound for a store: only the inserts, as durable as ours. */
export interface BareLoop {
  /** Inserts the rows in one transaction. */
  insert(rows: readonly BareRow[]): Promise<void> | void;
  close(): Promise<void>;
}

/** The reads of a request on our own tables: the key, its member and the session, each by primary key. */
export interface BareReads {
  read(): Promise<void> | void;
  close(): Promise<void>;
}

export interface ReadIds {
  readonly key: string;
  readonly member: string;
  readonly session: string;
}

/** The mean number of single appends that shared a transaction. */
export interface GroupSizes {
  mean(): Promise<number>;
  close(): Promise<void>;
}

/** A new database. */
export interface Place {
  readonly address: string;
  /** The bytes on disk that the library uses; no process may be writing. */
  bytes(): Promise<number>;
  /**
   * Opens a table with the columns and indexes of our events, in another database. Our store must have been opened
   * once before.
   */
  openBare(): Promise<BareLoop>;
  openReads(ids: ReadIds): Promise<BareReads>;
  /** Counts the appends to these sessions per transaction. Each append must have one event. */
  openGroupSizes(sessions: readonly string[]): Promise<GroupSizes>;
  /** The bare loop in a thread, for an engine that works inside our process and must not block its event loop. */
  openBehindThread?(): Promise<BareLoop>;
  remove(): Promise<void>;
}

export interface Engine {
  readonly name: EngineName;
  newPlace(): Promise<Place>;
  close(): Promise<void>;
}
