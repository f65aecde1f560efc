import type { FollowAccess, RecordAccess, WarningAccess } from '../engine/scope.ts';
import type { Sealer } from '../vault/sealer.ts';
import type { PostRules } from './post.ts';

/** What all about webhooks is given. */
export type WebhookScope = RecordAccess &
  WarningAccess &
  Pick<FollowAccess, 'store' | 'closing'> & {
    readonly postRules: PostRules;
    readonly sealer: Sealer;
  };
