import { errorCatalog } from '../../schema/error-catalog.ts';
import type { EventType, PayloadOf, SessionEvent } from '../../schema/event.ts';
import type { Message } from '../../schema/message.ts';
import { runFailureCatalog } from '../../schema/run-failure-catalog.ts';
import { endsWithRemedy, withoutRemedy } from '../parse/remedy-text.ts';
import { eventGist } from '../render/event-gist.ts';
import { duration } from '../render/quantity.ts';
import { printableJson, printableLine, printableLines } from '../terminal/printable.ts';
import type { Style } from '../terminal/terminal.ts';

/** A line about the activity of a run. */
export interface Activity {
  readonly mark: string;
  readonly text: string;
  readonly style: Style;
  /** Shown in full, on as many lines as needed. */
  readonly whole?: true;
}

const remedies = new Map(
  Object.entries({ ...errorCatalog, ...runFailureCatalog }).map(([code, { remedy }]) => [code, remedy]),
);

/**
 * The advice after a failed run, unless its message already contains some. An error code of another release has none.
 */
const stepAfterFailure = ({ code, message }: { code: string; message: string }): string | undefined =>
  endsWithRemedy(message) ? undefined : remedies.get(code);

type Describe<T extends EventType> = (payload: PayloadOf<T>, event: SessionEvent<T>) => readonly Activity[];

const brief = (value: unknown): string => (typeof value === 'string' ? printableLine(value) : printableJson(value));
const aside = (text: string): readonly Activity[] => [{ mark: '· ', text, style: 'dim', whole: true }];
const notable = (text: string): readonly Activity[] => [{ mark: '! ', text, style: 'yellow', whole: true }];

const userLines = ({ content }: Extract<Message, { role: 'user' }>): readonly Activity[] =>
  content.flatMap((part): readonly Activity[] =>
    part.type === 'file'
      ? [{ mark: '> ', text: printableLine(`[file ${part.name ?? ''} ${part.mediaType}]`), style: 'cyan' }]
      : printableLines(part.text).map((text) => ({ mark: '> ', text, style: 'cyan', whole: true })),
  );

const endOf = (end: PayloadOf<'run.ended'>): readonly Activity[] => {
  if (end.status === 'succeeded') return [];
  if (end.status === 'cancelled') return [{ mark: '! ', text: 'cancelled', style: 'yellow', whole: true }];
  const { code, message } = end.error;
  const next = stepAfterFailure(end.error);
  return [
    { mark: '! ', text: `failed ${printableLine(`${code}: ${message}`)}`, style: 'red', whole: true },
    ...(next ? [{ mark: '  ', text: next, style: 'dim', whole: true } as const] : []),
  ];
};

const descriptions: { readonly [T in EventType]?: Describe<T> } = {
  'message.appended': ({ message }) => (message.role === 'user' ? userLines(message) : []),
  'run.started': ({ attempt }) => (attempt > 1 ? aside(`taken up again, attempt ${attempt}`) : []),
  'run.ended': endOf,
  'tool.called': ({ tool, input, ran }) =>
    ran === false ? [] : [{ mark: '→ ', text: `${printableLine(tool)} ${brief(input)}`, style: 'yellow' }],
  'tool.retried': ({ tool, attempt, reason }) =>
    aside(printableLine(`${tool} once more, attempt ${attempt}${reason ? `: ${reason}` : ''}`)),
  'tool.completed': ({ tool, output, durationMs }) => [
    { mark: '← ', text: `${printableLine(tool)} ok, ${duration(durationMs)}: ${brief(output)}`, style: 'dim' },
  ],
  'tool.failed': ({ tool, outcome, error, durationMs }) => [
    {
      mark: '← ',
      text: printableLine(`${tool} ${outcome}, ${duration(durationMs)}: ${error.message}`),
      style: 'red',
    },
  ],
  // The last failure is shown by the end of the run, which also gives the advice.
  'model.failed': ({ failure, attempt, message, retryInMs, next }) => {
    if (next !== undefined) return notable(printableLine(`${failure}: ${message}; asking ${next} instead`));
    if (retryInMs === undefined) return [];
    // The wait may be long, so the first line says what to check meanwhile.
    const text = attempt === 1 ? message : withoutRemedy(message);
    return notable(printableLine(`${failure}: ${text}; retrying in ${duration(retryInMs)}`));
  },
  'approval.requested': ({ summary, approval }) =>
    notable(printableLine(`an approval is needed: ${summary} (${approval})`)),
  'approval.settled': ({ answer, comment }, { actor }) =>
    aside(printableLine(`${answer} by ${actor}${comment ? `: ${comment}` : ''}`)),
  'question.asked': ({ question, options }) =>
    notable(printableLine(`${question}${options ? ` (${options.join(', ')})` : ''}`)),
  'question.answered': ({ answer }, { actor }) => aside(printableLine(`${actor} answered: ${answer}`)),
  'child.waiting': ({ session, for: what, reason }) =>
    notable(printableLine(`${session} waits for ${what}${reason ? `: ${reason}` : ''}`)),
  'child.opened': ({ session }) => aside(`another agent is working on part of it in ${session}`),
  'files.conflicted': ({ conflicts, paths }, { seq }) =>
    notable(
      printableLine(
        `changes to ${conflicts} files were set aside (--set-aside ${seq}): ${paths.slice(0, 5).join(', ')}`,
      ),
    ),
  'files.prepared': ({ command, exitCode, durationMs }) => {
    const text = printableLine(`prepared the files: ${command}, ${duration(durationMs)}`);
    return exitCode === 0 ? aside(text) : notable(`${text}, ${exitCode === null ? 'broken off' : `exit ${exitCode}`}`);
  },
  'artifact.kept': ({ name, mediaType, size }) => aside(printableLine(`kept ${name} (${mediaType}, ${size} bytes)`)),
  'context.compacted': () => aside('a summary now stands for the older turns'),
};

const ofSession = /^(session|budget|agent)\./;

/** Lines that describe an event to people, without the text of answers. They are safe to print. */
export const activityOf = (event: SessionEvent): readonly Activity[] => {
  const describe = descriptions[event.type] as Describe<EventType> | undefined;
  if (describe) return describe(event.payload, event);
  return ofSession.test(event.type) ? aside(`${event.type} ${eventGist(event)}`.trim()) : [];
};
