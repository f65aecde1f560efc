import { writeSync } from 'node:fs';
import type { SessionId } from '../../src/schema/ids.ts';
import type { MarkedAppend } from './marked-append.ts';

/** The reports of an appender, one line of JSON each. */
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

/**
 * A pipe in addition to stdin, stdout and stderr. It carries only reports, and writes to it block, so a report is
 * sent when the call returns.
 */
export const reportFd = 3;

export const sendReport = (report: Report): void => {
  writeSync(reportFd, `${JSON.stringify(report)}\n`);
};
