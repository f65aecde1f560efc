export const engineNames = ['sqlite', 'postgres'] as const;
export type EngineName = (typeof engineNames)[number];

/** An event with everything that costs time made beforehand. */
export interface BareRow {
  readonly session: string;
  readonly seq: number;
  readonly opensTurn: boolean;
  readonly salt: Uint8Array;
  readonly hash: Uint8Array;
  readonly payload: Uint8Array;
}

/** The limit: nothing but the inserts, as durable as ours. */
export interface BareLoop {
  /** One transaction. */
  insert(rows: readonly BareRow[]): Promise<void> | void;
  close(): Promise<void>;
}

/** What a request that reads asks of our own tables: the key, its member and the session, each by its primary key. */
export interface BareReads {
  read(): Promise<void> | void;
  close(): Promise<void>;
}

export interface ReadIds {
  readonly key: string;
  readonly member: string;
  readonly session: string;
}

/** How many single appends shared a transaction, in the mean. */
export interface GroupSizes {
  mean(): Promise<number>;
  close(): Promise<void>;
}

/** A database of its own. */
export interface Place {
  readonly address: string;
  /** On disk, all that the library keeps; nothing may be writing. */
  bytes(): Promise<number>;
  /** A table with the columns and indexes of our events, in another database. Ours must have been opened once. */
  openBare(): Promise<BareLoop>;
  openReads(ids: ReadIds): Promise<BareReads>;
  /** Of what is appended to these sessions, one event at a time. */
  openGroupSizes(sessions: readonly string[]): Promise<GroupSizes>;
  /** The bare loop, where the engine works inside our process and must not hold up its event loop. */
  openBehindThread?(): Promise<BareLoop>;
  remove(): Promise<void>;
}

export interface Engine {
  readonly name: EngineName;
  newPlace(): Promise<Place>;
  close(): Promise<void>;
}
