import type { Head } from '../../../core/ports/store.ts';
import type { SessionId, WorkspaceId } from '../../../schema/ids.ts';
import { segmentsOf } from '../../log/lineage.ts';
import type { Tables } from './tables.ts';

/** The event at which a fork starts, which the parent may itself have inherited; undefined when it does not exist. */
export const readForkPoint = (
  { heads, sessions, events }: Tables,
  workspace: WorkspaceId,
  point: { readonly session: SessionId; readonly seq: number } | undefined,
): { readonly head: Head; readonly hash: Uint8Array; readonly at: number } | undefined => {
  if (!point) return undefined;
  const key = { workspace, session: point.session };
  const head = heads.read(key);
  if (!head || point.seq > head.seq) return undefined;
  const [owner] = segmentsOf(sessions.lineage(key) ?? [], point.seq);
  const mark = owner && events.mark({ workspace, session: owner.session }, point.seq);
  return mark && { head, hash: mark.hash, at: mark.at };
};
