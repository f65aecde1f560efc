export type FindingStatus = 'ok' | 'warn' | 'fail';

/** The topics that `doctor` checks, in the order in which it shows them. */
export const topics = [
  'versions',
  'store',
  'disk',
  'connections',
  'clocks',
  'workers',
  'models',
  'vault',
  'sandbox',
  'permissions',
] as const;
export type Topic = (typeof topics)[number];

export interface Finding {
  readonly topic: Topic;
  readonly status: FindingStatus;
  /** What was found. */
  readonly found: string;
  /** What to do. Absent if nothing is to be done. */
  readonly todo?: string | undefined;
}

export const finding = (topic: Topic, status: FindingStatus, found: string, todo?: string): Finding => ({
  topic,
  status,
  found,
  ...(todo !== undefined && { todo }),
});

/** Runs a check. A check that throws becomes a finding, so that the others are still shown. */
export const isolated = async (
  topic: Topic,
  check: () => readonly Finding[] | Promise<readonly Finding[]>,
  todo = 'the message says what failed',
): Promise<readonly Finding[]> => {
  try {
    return await check();
  } catch (error) {
    return [finding(topic, 'fail', error instanceof Error ? error.message : String(error), todo)];
  }
};
