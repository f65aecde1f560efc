import type { DatabaseSync } from 'node:sqlite';
import type { StoredEvent } from '../../../core/ports/store.ts';
import type { CallChange } from '../../../core/session/projections.ts';
import type { WorkspaceId } from '../../../schema/ids.ts';
import { projectionOf } from '../../log/projected-rows.ts';
import { lazyStatement } from '../file/lazy-statement.ts';

/** The rows by which queries find commits and calls, written together with their event. */
export interface ProjectionRows {
  add(workspace: WorkspaceId, event: StoredEvent): void;
  clear(workspace: WorkspaceId): void;
}

export const openProjectionRows = (db: DatabaseSync): ProjectionRows => {
  const later = (sql: string) => lazyStatement(db, sql);
  const insertPath = later(`INSERT INTO commit_paths
    (workspace, session, seq, path, turn, at, actor, tool, provenance) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`);
  const insertCall = later(`INSERT INTO tool_calls
    (workspace, session, seq, call_id, tool, status, run, turn, at, actor, input_hash)
    VALUES (?, ?, ?, ?, ?, 'running', ?, ?, ?, ?, ?)`);
  const endCall = later(`UPDATE tool_calls SET status = ?4, ended_seq = ?5, duration_ms = ?6, output_hash = ?7
    WHERE workspace = ?1 AND session = ?2 AND seq = (
      SELECT max(seq) FROM tool_calls WHERE workspace = ?1 AND session = ?2 AND call_id = ?3 AND ended_seq IS NULL)`);
  const insertReported = later(`INSERT INTO tool_calls
    (workspace, session, seq, call_id, tool, status, turn, at, actor, ended_seq, input_hash, output_hash)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`);
  const clearPaths = later('DELETE FROM commit_paths WHERE workspace = ?');
  const clearCalls = later('DELETE FROM tool_calls WHERE workspace = ?');

  const addCall = (workspace: WorkspaceId, event: StoredEvent, call: CallChange): void => {
    const { session, seq, run, turn, at, actor } = event;
    if (call.kind === 'called') {
      const { callId, tool, inputHash } = call;
      insertCall().run(workspace, session, seq, callId, tool, run ?? null, turn, at, actor, inputHash);
    } else if (call.kind === 'reported') {
      const { callId, tool, inputHash, outcome, outputHash = null } = call;
      const times = [turn, at, actor, seq] as const;
      insertReported().run(workspace, session, seq, callId, tool, outcome, ...times, inputHash, outputHash);
    } else {
      const { callId, outcome, durationMs, outputHash } = call;
      endCall().run(workspace, session, callId, outcome, seq, durationMs, outputHash ?? null);
    }
  };

  return {
    add: (workspace, event) => {
      const { paths, call } = projectionOf(event);
      const { session, seq, turn, at, actor } = event;
      for (const { path, tool, provenance } of paths) {
        insertPath().run(workspace, session, seq, path, turn, at, actor, tool ?? null, provenance);
      }
      if (call) addCall(workspace, event, call);
    },
    clear: (workspace) => {
      clearPaths().run(workspace);
      clearCalls().run(workspace);
    },
  };
};
