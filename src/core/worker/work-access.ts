import type {
  AgentAccess,
  CallerAccess,
  FollowAccess,
  ModelAccess,
  RecordAccess,
  WorktreeAccess,
  WriteAccess,
} from '../engine/scope.ts';

/** The access that a worker needs in a workspace, on behalf of the run's requester. */
export type WorkAccess = WriteAccess &
  FollowAccess &
  WorktreeAccess &
  AgentAccess &
  ModelAccess &
  RecordAccess &
  CallerAccess;
