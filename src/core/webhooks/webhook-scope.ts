import type { Scope } from '../engine/scope.ts';
import type { Sealer } from '../vault/sealer.ts';
import type { PostRules } from './post.ts';

/** The dependencies of the webhook code. */
export type WebhookScope = Pick<
  Scope,
  'store' | 'records' | 'workspace' | 'clock' | 'closing' | 'secrets' | 'onWarning'
> & {
  readonly postRules: PostRules;
  readonly sealer: Sealer;
};
