import { z } from 'zod';

/** The parts of a runtime that an API key can be limited to. */
export const areas = [
  'sessions',
  'files',
  'approvals',
  'agents',
  'usage',
  'members',
  'quotas',
  'keys',
  'tokens',
  'vault',
  'webhooks',
  'audit',
  'maintenance',
] as const;

export const Area = z.enum(areas);
export type Area = z.infer<typeof Area>;
