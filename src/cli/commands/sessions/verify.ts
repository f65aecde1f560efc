import { z } from 'zod';
import type { Verification } from '../../../core/maintenance/verify.ts';
import type { Sessions } from '../../../core/runtime/sessions.ts';
import { type ErrorCode, errorCodes, PerdureError } from '../../../schema/error.ts';
import { SessionId } from '../../../schema/ids.ts';
import { VerificationView } from '../../../schema/views/session.ts';
import { type Context, defineCommand, flag } from '../../parse/command.ts';
import { wrongCall } from '../../parse/wrong-call.ts';
import { count } from '../../render/quantity.ts';
import { hangingIndent } from '../../terminal/hanging-indent.ts';
import { printableLine } from '../../terminal/printable.ts';
import { withProgress } from '../../terminal/progress.ts';
import type { Style } from '../../terminal/terminal.ts';

type Checked = { readonly session: string } & (
  | Verification
  /** Result for a session whose log could not be read at all. */
  | { readonly ok: false; readonly error: { readonly code: ErrorCode; readonly message: string } }
);

const ofSession = { session: SessionId };
const CheckedView = z.union([
  ...VerificationView.options.map((option) => option.extend(ofSession)),
  z.strictObject({
    ...ofSession,
    ok: z.literal(false),
    error: z.strictObject({ code: z.enum(errorCodes), message: z.string() }),
  }),
]);

/** Yields all session ids in order of id, because the usual order depends on data that is being checked. */
async function* allIds(sessions: Sessions): AsyncGenerator<string, void, void> {
  for (let cursor: string | undefined; ; ) {
    const page = await sessions.list({ by: 'id', limit: 1000, ...(cursor && { cursor }) });
    for (const { id } of page.sessions) yield id;
    if (!page.cursor) return;
    cursor = page.cursor;
  }
}

/** Checks one session. An unreadable session is returned as a result, so that the others are still checked. */
const check = async (sessions: Sessions, id: string, quick: boolean): Promise<Checked> => {
  try {
    const session = await sessions.get(id);
    return { session: id, ...(await session.verify({ quick })) };
  } catch (error) {
    if (!(error instanceof PerdureError) || error.code === 'SESSION_NOT_FOUND') throw error;
    return { session: id, ok: false, error: { code: error.code, message: error.message } };
  }
};

const linesOf = (checked: Checked, { out }: Context): readonly string[] => {
  const { session } = checked;
  const marked = (style: Style, mark: string, text: string): readonly string[] =>
    hangingIndent(`${mark} `, text, out.columns, `${out.style(style, mark)} `);
  if (checked.ok) return marked('green', '✓', `${session}  ${count(checked.events, 'event')}, the chain holds`);
  const [what, why] =
    'bad' in checked
      ? [`event ${checked.bad.seq} is bad`, checked.bad.reason]
      : [checked.error.code, checked.error.message];
  return [...marked('red', '✗', `${session}  ${what}`), ...hangingIndent('  ', printableLine(why), out.columns)];
};

export const verify = defineCommand({
  name: 'verify',
  summary: 'check the hash chain and the files of sessions, and name the first bad event of each',
  args: ['[SESSION…]'],
  options: { all: flag('every session of the workspace'), quick: flag('do not read the content of files') },
  notes: ['Exits with 1 if any session is bad.'],
  examples: ['perdure verify ses_…', 'perdure verify --all'],
  needsNoAgents: true,
  json: z.strictObject({ sessions: z.array(CheckedView) }),
  run: async (context, { args, options: { all, quick = false } }) => {
    if (all ? args.length > 0 : args.length === 0) {
      throw wrongCall('verify needs either sessions or --all: see `perdure help verify`');
    }
    const sessions = await context.sessions();
    const done: Checked[] = [];
    await withProgress(
      context.err,
      () => `verifying, ${count(done.length, 'session')} done`,
      async () => {
        if (all) for await (const id of allIds(sessions)) done.push(await check(sessions, id, quick));
        for (const named of args) done.push(await check(sessions, await context.sessionId(named), quick));
      },
    );
    const total = count(done.length, 'session');
    const bad = done.filter(({ ok }) => !ok).length;
    await context.answer({ sessions: done }, () => [
      ...done.flatMap((checked) => linesOf(checked, context)),
      ...(all ? [bad === 0 ? `${total}, all sound` : `${total}, ${bad} bad`] : []),
    ]);
    return bad > 0 ? 'failure' : undefined;
  },
});
