import type { DatabaseSync } from 'node:sqlite';
import type { Charge } from '../../../core/ports/charges.ts';
import type { StoredEvent } from '../../../core/ports/store.ts';
import { withReadActor } from '../../../core/session/events/imported-event.ts';
import type { CallChange } from '../../../core/session/projections.ts';
import type { SessionId, WorkspaceId } from '../../../schema/ids.ts';
import { projectionOf } from '../../log/projected-rows.ts';
import { lazyStatement } from '../file/lazy-statement.ts';
import { projectionNames } from '../file/migrations.ts';

/** The rows by which queries find commits, calls and usage, written together with their event. */
export interface ProjectionRows {
  /** `root` is the root of the session's family. */
  add(workspace: WorkspaceId, event: StoredEvent, root: SessionId): void;
  clear(workspace: WorkspaceId): void;
}

export const openProjectionRows = (db: DatabaseSync): ProjectionRows => {
  const later = (sql: string) => lazyStatement(db, sql);
  const insertPath = later(`INSERT INTO commit_paths
    (workspace, session, seq, path, turn, at, actor, tool, provenance) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`);
  const insertCall = later(`INSERT INTO tool_calls
    (workspace, session, seq, call_id, tool, status, run, turn, at, actor, input_hash, root, effects, confined)
    VALUES (?, ?, ?, ?, ?, 'running', ?, ?, ?, ?, ?, ?, ?, ?)`);
  const endCall = later(`UPDATE tool_calls SET status = ?4, ended_seq = ?5, duration_ms = ?6, output_hash = ?7,
    source = ?8
    WHERE workspace = ?1 AND session = ?2 AND seq = (
      SELECT max(seq) FROM tool_calls WHERE workspace = ?1 AND session = ?2 AND call_id = ?3 AND ended_seq IS NULL)`);
  const clears = projectionNames.map((name) => later(`DELETE FROM ${name} WHERE workspace = ?`));
  const insertCharge = later(`INSERT INTO charges
    (workspace, session, seq, at, run, agent, model, member, child, input_tokens, output_tokens, cached_tokens, usd,
     is_rest)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`);
  const insertReported = later(`INSERT INTO tool_calls
    (workspace, session, seq, call_id, tool, status, turn, at, actor, ended_seq, input_hash, output_hash, root)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`);

  const addCall = (workspace: WorkspaceId, event: StoredEvent, root: SessionId, call: CallChange): void => {
    const { session, seq, run, turn, at, actor } = event;
    if (call.kind === 'called') {
      const { callId, tool, inputHash, effects = null, confined } = call;
      const made = [workspace, session, seq, callId, tool, run ?? null, turn, at, actor, inputHash] as const;
      insertCall().run(...made, root, effects, confined ? 1 : null);
    } else if (call.kind === 'reported') {
      const { callId, tool, inputHash, outcome, outputHash = null } = call;
      const times = [turn, at, actor, seq] as const;
      insertReported().run(workspace, session, seq, callId, tool, outcome, ...times, inputHash, outputHash, root);
    } else {
      const { callId, outcome, durationMs, outputHash, source } = call;
      endCall().run(workspace, session, callId, outcome, seq, durationMs, outputHash ?? null, source ?? null);
    }
  };

  const addCharge = (workspace: WorkspaceId, charge: Charge): void => {
    const { session, seq, at, run, agent, model, member, child } = charge;
    const { inputTokens, outputTokens, cachedTokens, usd = null, isRest } = charge;
    const about = [run, agent, model, member, child].map((value) => value ?? null);
    const amounts = [inputTokens, outputTokens, cachedTokens, usd, isRest ? 1 : null] as const;
    insertCharge().run(workspace, session, seq, at, ...about, ...amounts);
  };

  return {
    add: (workspace, written, root) => {
      const event = withReadActor(written);
      const { paths, call, charge } = projectionOf(event);
      const { session, seq, turn, at, actor } = event;
      for (const { path, tool, provenance } of paths) {
        insertPath().run(workspace, session, seq, path, turn, at, actor, tool ?? null, provenance ?? null);
      }
      if (call) addCall(workspace, event, root, call);
      if (charge) addCharge(workspace, charge);
    },
    clear: (workspace) => {
      for (const clear of clears) clear().run(workspace);
    },
  };
};
