/** The kinds of records that a workspace keeps beside its sessions. */
export type RecordKind =
  | 'workspace'
  | 'member'
  | 'removed-member'
  | 'key'
  | 'secret'
  | 'data-key'
  | 'webhook'
  | 'hooked'
  | 'delivery'
  | 'hook-cursor'
  | 'audit'
  | 'reply';
