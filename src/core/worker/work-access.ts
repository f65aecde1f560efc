import type {
  AgentAccess,
  CallerAccess,
  FollowAccess,
  ModelAccess,
  WorktreeAccess,
  WriteAccess,
} from '../engine/scope.ts';

/** What a worker needs in a workspace, on behalf of whoever asked for the run. */
export type WorkAccess = WriteAccess & FollowAccess & WorktreeAccess & AgentAccess & ModelAccess & CallerAccess;
