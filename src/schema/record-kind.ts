/** The kinds of records that a workspace keeps beside its sessions. */
export type RecordKind =
  | 'workspace'
  | 'member'
  | 'removed-member'
  | 'key'
  | 'token'
  | 'secret'
  | 'data-key'
  | 'webhook'
  | 'hooked'
  | 'delivery'
  | 'hook-cursor'
  | 'quota'
  | 'audit'
  | 'clock'
  | 'reply';
