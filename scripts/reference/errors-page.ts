import { exitClassOf, exitCodes } from '../../src/cli/parse/exit-codes.ts';
import type { ErrorCode } from '../../src/schema/error.ts';
import { errorCatalog } from '../../src/schema/error-catalog.ts';
import { runFailureCatalog } from '../../src/schema/run-failure-catalog.ts';
import { statusOf } from '../../src/servers/http/problem.ts';
import { code as codeSpan, linkTo, table } from '../markdown.ts';
import { markdownPage, type Page } from './page.ts';

const codes = Object.keys(errorCatalog).sort() as (keyof typeof errorCatalog)[];
const statusFor = (code: ErrorCode | 'DEFECT'): number => (code === 'DEFECT' ? 500 : statusOf[code]);
const exitFor = (code: ErrorCode | 'DEFECT'): number => exitCodes[code === 'DEFECT' ? 'defect' : exitClassOf[code]];

/** Guides with more information about an error than its remedy. */
const guides: Partial<Record<ErrorCode | 'DEFECT', string>> = {
  EVENT_DAMAGED: '[Back up, move, upgrade](../guides/back-up.md#after-a-restore)',
  STORE_CORRUPT: '[Back up, move, upgrade](../guides/back-up.md)',
  STORE_NEWER: '[Back up, move, upgrade](../guides/back-up.md#upgrade)',
  VAULT_LOCKED: '[The vault](../vault.md#keys)',
};

const section = (code: ErrorCode | 'DEFECT'): readonly string[] => {
  const { cause, remedy, details } = errorCatalog[code];
  const detailLines = details ? ['', `**In \`details\`:** ${details}`] : [];
  const guide = guides[code] ? ['', `**Guide:** ${guides[code]}`] : [];
  return [`## ${code}`, '', cause, '', `**What to do:** ${remedy}`, ...detailLines, ...guide];
};

const runFailures = Object.entries(runFailureCatalog).sort(([a], [b]) => (a < b ? -1 : 1));

export const errorsPage: Page = {
  path: 'docs/reference/errors.md',
  render: () =>
    markdownPage(
      'Errors',
      'Every failure that a caller can meet and branch on. The library throws a `PerdureError` with `code`, `message` and `details`; the server answers with [RFC 9457](https://www.rfc-editor.org/rfc/rfc9457) problems that hold the same; a command writes `error CODE: message` to stderr, or with `--json` `{"error":{code,message,details}}`, and ends with the exit code. The message says what happened in this case; this page says what the code means.',
      `What a run that failed says of itself: ${linkTo('Why a run failed')}.`,
      table(
        ['Code', 'HTTP', 'Exit'],
        codes.map((code) => [linkTo(code), String(statusFor(code)), String(exitFor(code))]),
      ),
      ...codes.map(section),
      '## Why a run failed',
      'A run that failed has one of these codes, or one of those above where an error ended it. `run.result()`, the event [`run.ended`](events.md#runended) and the API have it as `error: { code, message }`; the message says what happened in this case. `send`, `attach` and `chat` write `failed CODE: message` and what to do, and `send` and `attach` exit with 1. The session goes on with the next input; `perdure retry SESSION TURN` asks again what a turn was asked.',
      table(
        ['Code', 'What happened', 'What to do'],
        runFailures.map(([code, { cause, remedy }]) => [codeSpan(code), cause, remedy]),
      ),
    ),
};
