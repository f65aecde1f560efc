import type { Context, Values } from './command.ts';
import { commitFilterOf, type commitOptions } from './commit-filter.ts';
import { commitTable } from './commit-table.ts';
import { parseCount } from './point.ts';
import { printableJson } from './printable.ts';
import { linesText } from './terminal.ts';
import { wrongCall } from './wrong-call.ts';

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
