import type {
  AgentAccess,
  CallerAccess,
  ChargeAccess,
  FollowAccess,
  ModelAccess,
  OutboundAccess,
  RecallAccess,
  RecordAccess,
  SightAccess,
  WorktreeAccess,
  WriteAccess,
} from '../engine/scope.ts';

/** The access that a worker needs in a workspace, on behalf of the run's requester. */
export type WorkAccess = WriteAccess &
  FollowAccess &
  WorktreeAccess &
  AgentAccess &
  ModelAccess &
  OutboundAccess &
  RecallAccess &
  RecordAccess &
  CallerAccess &
  ChargeAccess &
  Pick<SightAccess, 'whole'>;
