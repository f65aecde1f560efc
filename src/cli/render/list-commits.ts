import type { Context, Values } from '../parse/command.ts';
import { commitFilterOf, type commitOptions } from '../parse/commit-filter.ts';
import { parseCount } from '../parse/point.ts';
import { wrongCall } from '../parse/wrong-call.ts';
import { printableJson } from '../terminal/printable.ts';
import { linesText } from '../terminal/terminal.ts';
import { commitTable } from './commit-table.ts';
import { noteOlder } from './note-older.ts';

interface Request {
  readonly session: string | undefined;
  readonly options: Values<typeof commitOptions> & { readonly limit?: string | undefined };
}

/**
 * Lists the matching commits of a session or of the workspace, newest first: as a table, or as one JSON object per
 * line. Lines have no place for a cursor, so with `--json` all pages follow each other unless a limit is given.
 */
export const listCommits = async (context: Context, { session, options }: Request): Promise<void> => {
  const { all = false } = options;
  if (all && session !== undefined) throw wrongCall('--all covers all sessions: leave out SESSION');
  const filter = { ...commitFilterOf(options, context.now()), limit: parseCount('--limit', options.limit, 1) };
  const source = all ? await context.sessions() : await context.session(session!);
  const { out, json } = context;
  let page = await source.commits({ ...filter, cursor: options.cursor });
  if (json) {
    await out.write(linesText(page.commits.map((commit) => printableJson(commit))));
    while (page.cursor && filter.limit === undefined) {
      page = await source.commits({ ...filter, cursor: page.cursor });
      await out.write(linesText(page.commits.map((commit) => printableJson(commit))));
    }
    return;
  }
  const { commits, cursor } = page;
  const lines =
    commits.length > 0 ? commitTable(commits, context, { withSession: all, path: filter.path }) : ['no commits match'];
  await out.write(linesText(lines));
  await noteOlder(context, ['log', session], options, cursor);
};
