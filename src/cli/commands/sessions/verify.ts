import { z } from 'zod';
import type { BundleVerification } from '../../../core/bundles/verify-bundle.ts';
import type { Verification, VerifyOptions, VerifyProgress } from '../../../core/maintenance/verify.ts';
import type { Sessions } from '../../../core/runtime/sessions.ts';
import { type ErrorCode, errorCodes, PerdureError } from '../../../schema/error.ts';
import { SessionId } from '../../../schema/ids.ts';
import { VerificationView } from '../../../schema/views/session.ts';
import { openBundle } from '../../files/open-bundle.ts';
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

type CheckedFile = { readonly file: string } & BundleVerification;

const CheckedFileView = z.union([
  z.strictObject({
    file: z.string(),
    ok: z.literal(true),
    sessions: z.array(z.strictObject({ session: SessionId, events: z.int() })),
  }),
  z.strictObject({ file: z.string(), ok: z.literal(false), reason: z.string() }),
]);

/** Whether an argument names a file. No session id contains a dot or a slash. */
const isFile = (named: string): boolean => /[./\\]/.test(named);

const checkFile = async (file: string): Promise<CheckedFile> => {
  const source = await openBundle(file);
  const { verifyBundle } = await import('../../../core/bundles/verify-bundle.ts');
  return { file, ...(await verifyBundle(source)) };
};

const fileLines = (checked: CheckedFile, { out }: Context): readonly string[] => {
  const file = printableLine(checked.file);
  if (!checked.ok)
    return [
      ...hangingIndent('✗ ', `${file}  is not a sound bundle`, out.columns, `${out.style('red', '✗')} `),
      ...hangingIndent('  ', printableLine(checked.reason), out.columns),
    ];
  const total = checked.sessions.reduce((sum, { events }) => sum + events, 0);
  const text = `${file}  ${count(checked.sessions.length, 'session')}, ${count(total, 'event')}, the chains hold`;
  return hangingIndent('✓ ', text, out.columns, `${out.style('green', '✓')} `);
};

/** Yields all session ids in order of id, because the usual order depends on data that is being checked. */
async function* allIds(sessions: Sessions): AsyncGenerator<string, void, void> {
  for (let cursor: string | undefined; ; ) {
    const page = await sessions.list({ by: 'id', limit: 1000, ...(cursor && { cursor }) });
    for (const { id } of page.sessions) yield id;
    if (!page.cursor) return;
    cursor = page.cursor;
  }
}

const phases = { log: 'events read', state: 'events folded', files: 'events with files checked' } as const;
const phaseText = ({ phase, done, total }: VerifyProgress): string =>
  `${done.toLocaleString('en')} of ${total.toLocaleString('en')} ${phases[phase]}`;

/** Checks one session. An unreadable session is returned as a result, so that the others are still checked. */
const check = async (
  sessions: Sessions,
  id: string,
  options: Pick<VerifyOptions, 'quick' | 'onProgress'>,
): Promise<Checked> => {
  try {
    const session = await sessions.get(id);
    return { session: id, ...(await session.verify(options)) };
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

/** Suggests a repair for bad events. Data beside the log has a remedy of its own, which the reason names. */
const repairNote = (done: readonly Checked[], { commandText }: Context): string | undefined => {
  const bad = done.find((checked) => 'bad' in checked && !checked.bad.reason.includes('--projections'));
  return bad && `to continue from the last good event, as a fork: \`${commandText('repair', bad.session)}\``;
};

export const verify = defineCommand({
  name: 'verify',
  summary: 'check the hash chain and the files of sessions, or exported files, and name what is bad',
  args: ['[SESSION|FILE…]'],
  options: { all: flag('every session of the workspace'), quick: flag('do not read the content of files') },
  notes: [
    'Exits with 1 if any session or file is bad.',
    'An argument with a dot or a slash is an exported file. It is checked as an import would, without a store and without importing it.',
  ],
  examples: ['perdure verify ses_…', 'perdure verify --all', 'perdure verify work.perdure'],
  needsNoAgents: true,
  json: z.strictObject({ sessions: z.array(CheckedView), files: z.array(CheckedFileView).optional() }),
  run: async (context, { args, options: { all, quick = false } }) => {
    if (all ? args.length > 0 : args.length === 0) {
      throw wrongCall('verify needs either sessions, exported files or --all: see `perdure help verify`');
    }
    const done: Checked[] = [];
    const files: CheckedFile[] = [];
    let progress: VerifyProgress | undefined;
    const onProgress = (now: VerifyProgress): void => {
      progress = now;
    };
    const options = { quick, onProgress };
    await withProgress(
      context.err,
      () => `verifying, ${count(done.length, 'session')} done${progress ? `, ${phaseText(progress)}` : ''}`,
      async () => {
        for (const named of args.filter(isFile)) files.push(await checkFile(named));
        const ids = args.filter((named) => !isFile(named));
        if (!all && ids.length === 0) return;
        const sessions = await context.sessions();
        if (all) for await (const id of allIds(sessions)) done.push(await check(sessions, id, options));
        for (const named of ids) done.push(await check(sessions, await context.sessionId(named), options));
      },
    );
    const total = count(done.length, 'session');
    const bad = done.filter(({ ok }) => !ok).length;
    await context.answer({ sessions: done, ...(files.length > 0 && { files }) }, () => [
      ...files.flatMap((checked) => fileLines(checked, context)),
      ...done.flatMap((checked) => linesOf(checked, context)),
      ...(all ? [bad === 0 ? `${total}, all sound` : `${total}, ${bad} bad`] : []),
    ]);
    const remedy = repairNote(done, context);
    if (remedy) await context.note(remedy);
    return bad > 0 || files.some(({ ok }) => !ok) ? 'failure' : undefined;
  },
});
