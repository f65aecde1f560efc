/** The kinds of records that a workspace keeps beside its sessions. */
export type RecordKind =
  | 'workspace'
  | 'member'
  | 'key'
  | 'secret'
  | 'data-key'
  | 'webhook'
  | 'hooked'
  | 'delivery'
  | 'hook-cursor'
  | 'audit'
  | 'reply';
