import type { WorkspaceId } from '../../schema/ids.ts';
import type { Json } from '../../schema/json.ts';
import type { RecordKind } from '../../schema/record-kind.ts';

export interface RecordRef {
  readonly kind: RecordKind;
  readonly id: string;
}

export interface StoredRecord extends RecordRef {
  /** Another at every write, and none is ever given twice, also not to one that was removed and made again. */
  readonly version: number;
  /** Of the write, by the store's clock. */
  readonly at: number;
  /** Whole milliseconds, by whatever clock its writer goes. */
  readonly dueAt?: number | undefined;
  readonly body: Json;
}

export interface RecordWrite extends RecordRef {
  /** 0: there must be none yet. */
  readonly onVersion: number;
  /** Undefined removes it. */
  readonly body: Json | undefined;
  readonly dueAt?: number | undefined;
}

export type RecordQuery =
  | { readonly limit: number; readonly after?: string | undefined; readonly order?: 'ascending' | 'descending' }
  | { readonly limit: number; readonly dueBy: number };

/** What a workspace keeps beside its sessions: small values with a version, each found by its kind and id. */
export interface Records {
  record(workspace: WorkspaceId, kind: RecordKind, id: string): Promise<StoredRecord | undefined>;
  /** By id, those behind `after` in that order; `dueBy` gives those whose time has come, earliest first. */
  records(workspace: WorkspaceId, kind: RecordKind, query: RecordQuery): Promise<readonly StoredRecord[]>;
  /** All or nothing, durable when it returns; false when one of them is not on the version it names, or is named twice. */
  writeRecords(workspace: WorkspaceId, writes: readonly RecordWrite[]): Promise<boolean>;
}
