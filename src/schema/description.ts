import { z } from 'zod';
import { Metadata, Text } from './json.ts';

/** Which of a workspace's sessions are worked on first. */
export const Priority = z.enum(['low', 'normal', 'high']);
export type Priority = z.infer<typeof Priority>;

/** What its users say of a session. */
export const Description = z.strictObject({
  title: Text.max(500).optional(),
  metadata: Metadata.optional(),
  priority: Priority.optional(),
});
export type Description = z.infer<typeof Description>;
