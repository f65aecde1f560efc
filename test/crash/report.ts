import { writeSync } from 'node:fs';
import type { SessionId } from '../../src/schema/ids.ts';
import type { MarkedAppend } from './marked-append.ts';

/** What an appender tells, one line of JSON each. */
export type Report =
  | { readonly kind: 'opening' }
  | { readonly kind: 'opened' }
  | { readonly kind: 'trying'; readonly append: MarkedAppend }
  | {
      readonly kind: 'acknowledged';
      readonly session: SessionId;
      readonly key?: string | undefined;
      readonly events: readonly (readonly [seq: number, hash: string])[];
    }
  | { readonly kind: 'failed'; readonly reason: string };

export type Acknowledged = Extract<Report, { kind: 'acknowledged' }>;
export const isAcknowledged = (report: Report): report is Acknowledged => report.kind === 'acknowledged';

/** The pipe beside stdin, stdout and stderr: nothing else writes to it, and it blocks, so that a report is out when this returns. */
export const reportFd = 3;

export const sendReport = (report: Report): void => {
  writeSync(reportFd, `${JSON.stringify(report)}\n`);
};
