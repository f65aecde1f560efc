import { z } from 'zod';
import { Metadata, Text } from './json.ts';

/** The priority of a session. Workers claim the sessions of a workspace in this order. */
export const Priority = z.enum(['low', 'normal', 'high']);
export type Priority = z.infer<typeof Priority>;

/** The fields of a session that its users set. */
export const Description = z.strictObject({
  title: Text.max(500).optional(),
  metadata: Metadata.optional(),
  priority: Priority.optional(),
});
export type Description = z.infer<typeof Description>;
