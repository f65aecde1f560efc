import type { Context, Values } from '../parse/command.ts';
import { commitFilterOf, type commitOptions } from '../parse/commit-filter.ts';
import { parseCount } from '../parse/point.ts';
import { wrongCall } from '../parse/wrong-call.ts';
import { printableJson } from '../terminal/printable.ts';
import { linesText } from '../terminal/terminal.ts';
import { commitTable } from './commit-table.ts';

interface Request {
  readonly session: string | undefined;
  readonly options: Values<typeof commitOptions> & { readonly limit?: string | undefined };
}

/**
 * Lists the matching commits of a session or of the workspace, newest first: as a table, or as one JSON object per
 * line.
 */
export const listCommits = async (context: Context, { session, options }: Request): Promise<void> => {
  const { all = false } = options;
  if (all && session !== undefined) throw wrongCall('--all covers all sessions: leave out SESSION');
  const filter = { ...commitFilterOf(options, context.now()), limit: parseCount('--limit', options.limit, 1) };
  const source = all ? await context.sessions() : await context.session(session!);
  const commits = await source.commits(filter);
  const { out, json } = context;
  if (json) return out.write(linesText(commits.map((commit) => printableJson(commit))));
  const lines =
    commits.length > 0 ? commitTable(commits, context, { withSession: all, path: filter.path }) : ['no commits match'];
  return out.write(linesText(lines));
};
