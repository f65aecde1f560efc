/** What a workspace keeps beside its sessions. */
export type RecordKind =
  | 'workspace'
  | 'member'
  | 'key'
  | 'secret'
  | 'data-key'
  | 'webhook'
  | 'delivery'
  | 'hook-cursor'
  | 'audit'
  | 'reply';
