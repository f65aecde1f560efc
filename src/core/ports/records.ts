import type { WorkspaceId } from '../../schema/ids.ts';
import type { Json } from '../../schema/json.ts';
import type { RecordKind } from '../../schema/record-kind.ts';

export interface RecordRef {
  readonly kind: RecordKind;
  readonly id: string;
}

export interface StoredRecord extends RecordRef {
  /**
   * The version of the record, which changes with every write. A version is never reused, even after the record was
   * removed and created again.
   */
  readonly version: number;
  /** The time of the write, by the store's clock. */
  readonly at: number;
  /** When the record is due, in whole milliseconds by the writer's clock. */
  readonly dueAt?: number | undefined;
  readonly body: Json;
}

export interface RecordWrite extends RecordRef {
  /** The version that the record must have. 0 means that it must not exist. */
  readonly onVersion: number;
  /** The new body. Undefined removes the record. */
  readonly body: Json | undefined;
  readonly dueAt?: number | undefined;
}

export type RecordQuery =
  | { readonly limit: number; readonly after?: string | undefined; readonly order?: 'ascending' | 'descending' }
  | { readonly limit: number; readonly dueBy: number };

/** The records of a workspace: small versioned values beside its sessions, by kind and id. */
export interface Records {
  record(workspace: WorkspaceId, kind: RecordKind, id: string): Promise<StoredRecord | undefined>;
  /**
   * Returns records sorted by id, starting after `after`. With `dueBy`, returns the records that are due, earliest
   * first.
   */
  records(workspace: WorkspaceId, kind: RecordKind, query: RecordQuery): Promise<readonly StoredRecord[]>;
  /**
   * Writes all records atomically. The writes are durable when it returns. Returns false, and writes nothing, if a
   * record does not have the expected version or is listed twice.
   */
  writeRecords(workspace: WorkspaceId, writes: readonly RecordWrite[]): Promise<boolean>;
}
