import { z } from 'zod';
import { holders, statuses } from './statuses.ts';

export const Status = z.enum(statuses);
export type Status = z.infer<typeof Status>;

export const Holder = z.enum(holders);
export type Holder = z.infer<typeof Holder>;
