import type { FollowAccess, RecordAccess, SightAccess, WarningAccess } from '../engine/scope.ts';
import type { Sealer } from '../vault/sealer.ts';
import type { PostRules } from './post.ts';

/** The dependencies of the webhook code. */
export type WebhookScope = RecordAccess &
  WarningAccess &
  Pick<FollowAccess, 'store' | 'closing'> &
  Pick<SightAccess, 'seesByReach'> & {
    readonly postRules: PostRules;
    readonly sealer: Sealer;
  };
