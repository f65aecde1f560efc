import { z } from 'zod';
import { HolderRole } from '../../schema/handoff.ts';
import { MemberId } from '../../schema/ids.ts';
import { defineTool } from '../define-tool.ts';
import { Note } from './entry-key.ts';

const input = z
  .object({
    reason: Note.describe('What the person should do, and why you cannot.'),
    member: MemberId.optional().describe('The id of the member to hand it to.'),
    role: HolderRole.optional().describe('The least role of the members who may take it, instead of one member.'),
  })
  .refine(({ member, role }) => member === undefined || role === undefined, {
    path: ['role'],
    error: 'name a member or a role, not both',
  });

export const handOffTool = defineTool({
  name: 'hand_off',
  description:
    'Hands the session to a person and waits until they hand it back. The result says who acted, what they said, changed and decided, and which files changed. Use it when a person must do a part of the work or take a decision that is not yours. Without a member or a role, any person may take it.',
  input,
  effects: 'none',
  usesFiles: false,
  handoff: ({ reason, member, role }) => ({
    reason,
    ...(member !== undefined && { to: { member } }),
    ...(role !== undefined && { to: { role } }),
  }),
  execute: () => null,
});
