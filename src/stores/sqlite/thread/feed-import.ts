import type { Imported, SessionCopy } from '../../../core/ports/store.ts';
import type { MemberId, SessionId, WorkspaceId } from '../../../schema/ids.ts';
import { type Change, changeOf, joined } from '../../waking/watchers.ts';
import { packEvents } from './packed-events.ts';
import type { WriterOperations } from './serve-writes.ts';
import type { ThreadClient } from './thread-client.ts';

type Writer = ThreadClient<WriterOperations>;

const addCopy = (
  writer: Writer,
  workspace: WorkspaceId,
  copy: SessionCopy,
  owner: MemberId | undefined,
): Promise<number> => {
  const { events, transfer } = packEvents(copy.events);
  return writer.call('importAdd', [workspace, { ...copy, events }, owner], [transfer]);
};

/** Feeds the writer's open transaction piece by piece. Any error, on either side, rolls back everything. */
export const feedImport = async (
  writer: Writer,
  workspace: WorkspaceId,
  copies: AsyncIterable<SessionCopy>,
  owner: MemberId | undefined,
): Promise<{ readonly imported: Imported; readonly changes: readonly Change[] }> => {
  const added = new Map<SessionId, number>();
  const changes = new Map<SessionId, Change>();
  await writer.call('importBegin', []);
  try {
    for await (const copy of copies) {
      const { session, events } = copy;
      added.set(session, (added.get(session) ?? 0) + (await addCopy(writer, workspace, copy, owner)));
      const change = changeOf({ workspace, session, seq: events.at(-1)?.seq ?? 0 }, events);
      changes.set(session, joined(changes.get(session), change));
    }
    await writer.call('importCommit', []);
  } catch (error) {
    await writer.call('importCancel', []).catch(() => undefined);
    throw error;
  }
  return {
    imported: { sessions: [...added].map(([session, count]) => ({ session, added: count })) },
    changes: [...changes.values()],
  };
};
