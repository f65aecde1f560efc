import { z } from 'zod';
import { listOf } from './bounded.ts';
import { MemberId } from './ids.ts';
import { reaches, visibilities } from './reaches.ts';

/** Which sessions a member or a key reaches: those of the workspace, or only its own and those shared with it. */
export const Reach = z.enum(reaches);
export type Reach = z.infer<typeof Reach>;
/** Which members see a session besides its owner and the members it is shared with: all of the workspace, or none. */
export const Visibility = z.enum(visibilities);
export type Visibility = z.infer<typeof Visibility>;

/** The maximum number of members that a session can be shared with. */
export const maxSharedWith = 100;

/** Who sees a session. An absent field stays as it is. */
export const Sharing = z.strictObject({
  visibility: Visibility.optional(),
  sharedWith: listOf(MemberId, { max: maxSharedWith }).optional(),
});
export type Sharing = z.infer<typeof Sharing>;

/** The member that a session belongs to, and who else sees it. */
export const Ownership = Sharing.extend({ owner: MemberId.optional() });
export type Ownership = z.infer<typeof Ownership>;
