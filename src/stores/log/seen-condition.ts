import { namesOf, type Viewer } from '../../core/ports/viewers.ts';
import type { WorkspaceId } from '../../schema/ids.ts';
import type { QueryText } from './query-text.ts';

/** The table of session values and a column of one dialect. `session` is the column of the outer query, with its table. */
interface SeenColumns {
  readonly values: string;
  readonly session: string;
}

/**
 * Restricts a query to the sessions that the viewer sees. A member has few sessions of its own, so those are read from
 * the index by member; all others are looked up row by row.
 */
export const seenCondition = (
  query: QueryText,
  { values, session }: SeenColumns,
  workspace: WorkspaceId,
  viewer: Viewer | undefined,
): string => {
  if (!viewer) return '';
  const here = query.place(workspace);
  const names = namesOf(viewer).map((name) => query.place(name));
  const isNamed = viewer.sessions
    ? ` AND ${session} IN (${['NULL', ...viewer.sessions.map((id) => query.place(id))].join(', ')})`
    : '';
  if (viewer.reach === 'own') {
    return `${isNamed} AND ${session} IN (SELECT v.session FROM ${values} v
      WHERE v.workspace = ${here} AND v.name = 'viewer' AND v.value = ${names[0]})`;
  }
  return `${isNamed} AND EXISTS (SELECT 1 FROM ${values} v
    WHERE v.workspace = ${here} AND v.session = ${session} AND v.name = 'viewer' AND v.value IN (${names.join(', ')}))`;
};
