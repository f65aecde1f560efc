import type { Audited } from '../access/guard.ts';
import type {
  AgentAccess,
  CallerAccess,
  ChargeAccess,
  FollowAccess,
  HandleAccess,
  ModelAccess,
  OutboundAccess,
  RecallAccess,
  RecordAccess,
  SightAccess,
  WorkerAccess,
  WorktreeAccess,
  WriteAccess,
} from '../engine/scope.ts';

/** The access that use cases receive to act as one member of one workspace. */
export interface Scope
  extends WriteAccess,
    FollowAccess,
    WorktreeAccess,
    AgentAccess,
    ModelAccess,
    OutboundAccess,
    RecallAccess,
    RecordAccess,
    CallerAccess,
    ChargeAccess,
    WorkerAccess,
    HandleAccess,
    SightAccess {
  readonly audited: Audited;
}
