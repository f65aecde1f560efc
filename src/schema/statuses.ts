export const statuses = ['open', 'active', 'pausing', 'paused', 'closed', 'archived'] as const;
export type Status = (typeof statuses)[number];

export const holders = ['agent', 'human'] as const;
export type Holder = (typeof holders)[number];

export const runEnds = ['succeeded', 'failed', 'cancelled'] as const;
export const runStatuses = ['queued', 'running', 'waiting', 'paused', ...runEnds] as const;
export type RunStatus = (typeof runStatuses)[number];
