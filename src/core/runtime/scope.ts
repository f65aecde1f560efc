import type { Audited } from '../access/guard.ts';
import type {
  AgentAccess,
  CallerAccess,
  FollowAccess,
  HandleAccess,
  ModelAccess,
  RecordAccess,
  WorkerAccess,
  WorktreeAccess,
  WriteAccess,
} from '../engine/scope.ts';

/** One member of one workspace at work: all that use cases are given. */
export interface Scope
  extends WriteAccess,
    FollowAccess,
    WorktreeAccess,
    AgentAccess,
    ModelAccess,
    RecordAccess,
    CallerAccess,
    WorkerAccess,
    HandleAccess {
  readonly audited: Audited;
}
