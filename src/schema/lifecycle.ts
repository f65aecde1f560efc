import { z } from 'zod';

export const statuses = ['open', 'active', 'pausing', 'paused', 'closed', 'archived'] as const;
export const Status = z.enum(statuses);
export type Status = z.infer<typeof Status>;

export const Holder = z.enum(['agent', 'human']);
export type Holder = z.infer<typeof Holder>;
