import { z } from 'zod';
import { Metadata, Text } from './json.ts';

/** The order in which workers take the sessions of a workspace. */
export const Priority = z.enum(['low', 'normal', 'high']);
export type Priority = z.infer<typeof Priority>;

/** The fields of a session that its users set. */
export const Description = z.strictObject({
  title: Text.max(500).optional(),
  metadata: Metadata.optional(),
  priority: Priority.optional(),
});
export type Description = z.infer<typeof Description>;
