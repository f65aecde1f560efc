import type { Session } from '../../core/runtime/session.ts';
import type { CommitRecord } from '../../core/session/state/commit-record.ts';
import { saidWords } from '../../schema/said.ts';
import type { Context, Values } from '../parse/command.ts';
import { commitFilterOf, type commitOptions } from '../parse/commit-filter.ts';
import { parseCount } from '../parse/point.ts';
import { wrongCall } from '../parse/wrong-call.ts';
import { truncate } from '../terminal/display-width.ts';
import { printableJson } from '../terminal/printable.ts';
import type { Terminal } from '../terminal/terminal.ts';
import { commitGist, committedBy, provenancesOf } from './commit-table.ts';
import { isoTime, localTime } from './time.ts';

type Options = Values<typeof commitOptions> & {
  readonly limit?: string | undefined;
  readonly after?: string | undefined;
  readonly at?: string | undefined;
};

/** The options that look back, which a follower cannot use. */
const backward = ['at', 'turns', 'last', 'since', 'until', 'include-rewound', 'cursor', 'all'] as const;

const commitLine = (
  commit: CommitRecord,
  path: string | undefined,
  { isTerminal, columns, style }: Terminal,
): string => {
  const { seq, at, turn } = commit;
  const place = `${String(seq).padStart(5)}  ${isTerminal ? localTime(at) : isoTime(at)}  ${`t${turn}`.padEnd(4)}`;
  const level = provenancesOf(commit);
  const rest = `${committedBy(commit)}${level && ` (${level})`}  ${commitGist(commit, path)}`;
  const room = isTerminal ? Math.max(8, columns - place.length - 2) : Number.POSITIVE_INFINITY;
  return `${style('dim', place)}  ${truncate(rest, room)}`;
};

/** The commit with the words of the message that asked for its call. They are left out if the message cannot be read. */
const withWords = async (session: Session, commit: CommitRecord): Promise<CommitRecord> => {
  if (!commit.said) return commit;
  const { seq, message } = commit.said;
  const [asked] = await Array.fromAsync(session.events({ after: seq - 1, at: { seq } })).catch(() => []);
  const words = asked?.type === 'message.appended' ? saidWords(asked.payload.message, seq) : undefined;
  return words?.message === message ? { ...commit, said: words } : commit;
};

/** Shows the matching commits of a session, oldest first, and then each new one until the user interrupts. */
export const followCommits = async (context: Context, named: string, options: Options): Promise<void> => {
  const wrong = backward.find((name) => options[name] !== undefined);
  if (wrong) throw wrongCall(`--follow shows commits of one session as they come: leave out --${wrong}`);
  const after = parseCount('--after', options.after, 0) ?? 0;
  let left = parseCount('--limit', options.limit, 1) ?? Number.POSITIVE_INFINITY;
  const { path, tool, actor, provenance } = commitFilterOf(options, context.now());
  const session = await context.session(named);
  const { out, json } = context;
  const signal = context.interrupted();
  for await (const watched of session.watchCommits({ path, tool, actor, provenance, after, signal })) {
    const commit = await withWords(session, watched);
    await out.write(`${json ? printableJson(commit) : commitLine(commit, path, out)}\n`);
    left -= 1;
    if (left <= 0) break;
  }
};
