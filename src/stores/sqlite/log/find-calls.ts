import type { DatabaseSync, SQLInputValue } from 'node:sqlite';
import type { CallQuery, CallRecord, RepeatQuery, SessionKey } from '../../../core/ports/store.ts';
import type { SessionId, WorkspaceId } from '../../../schema/ids.ts';
import { callWithin, isEffective, isOnlyRunning, isWithin } from '../../log/call-within.ts';
import { olderThan, type Segment } from '../../log/lineage.ts';
import { QueryText } from '../../log/query-text.ts';
import { seenCondition } from '../../log/seen-condition.ts';
import { eachRow } from '../file/each-row.ts';
import { isLasting } from '../file/migrations.ts';
import { prepareOnce } from '../file/prepare-once.ts';
import type { Sessions } from './sessions.ts';

export interface CallFinder {
  find(workspace: WorkspaceId, query: CallQuery): readonly CallRecord[];
  findRepeated(key: SessionKey, query: RepeatQuery): CallRecord | undefined;
}

interface Query {
  readonly text: string;
  readonly values: SQLInputValue[];
}

type Row = { readonly [Field in keyof CallRecord]: CallRecord[Field] | null };

const columns = `session, call_id AS callId, tool, status, run, turn, seq, at, actor, ended_seq AS endedSeq,
  duration_ms AS durationMs, input_hash AS inputHash, output_hash AS outputHash, source, effects,
  confined`;

const recordOf = ({ confined, ...row }: Row): CallRecord => ({
  ...(Object.fromEntries(Object.entries(row).filter(([, value]) => value !== null)) as unknown as CallRecord),
  ...(confined !== null && { confined: true }),
});

const selection = (query: QueryText, from: string): Query => ({
  text: `SELECT ${columns} FROM tool_calls ${from}`,
  values: query.values as SQLInputValue[],
});

export const callsOfWorkspace = (workspace: WorkspaceId, asked: CallQuery): Query => {
  const query = new QueryText('?');
  const { before, status, limit } = asked;
  const from = [
    // Running calls are few and have their own partial index.
    isOnlyRunning(asked) ? 'INDEXED BY tool_calls_open WHERE ended_seq IS NULL AND ' : 'WHERE ',
    `workspace = ${query.place(workspace)}`,
    query.narrow(asked),
    query.and(status && JSON.stringify(status), (place) => `status IN (SELECT value FROM json_each(${place}))`),
    asked.lasting ? ` AND ${isLasting}` : '',
    query.goOn(before),
    seenCondition(query, { values: 'session_values', session: 'tool_calls.session' }, workspace, asked.viewer),
  ].join('');
  return selection(query, `${from} ORDER BY at DESC, session DESC, seq DESC LIMIT ${query.place(limit)}`);
};

export const callsOfSpan = (workspace: WorkspaceId, { session, from, to }: Segment, asked: CallQuery): Query => {
  const query = new QueryText('?');
  const conditions = `workspace = ${query.place(workspace)} AND session = ${query.place(session)}
    AND seq BETWEEN ${query.place(from)} AND ${query.place(to)}${query.narrow(asked)}${asked.lasting ? ` AND ${isLasting}` : ''}`;
  return selection(query, `WHERE ${conditions} ORDER BY seq DESC`);
};

/** Calls of the family with this tool and input, newest first. */
export const callsWithInput = (
  workspace: WorkspaceId,
  root: SessionId,
  { tool, inputHash }: Pick<RepeatQuery, 'tool' | 'inputHash'>,
): Query => {
  const query = new QueryText('?');
  const conditions = `workspace = ${query.place(workspace)} AND root = ${query.place(root)} AND tool = ${query.place(tool)}
    AND input_hash = ${query.place(inputHash)} AND ${isLasting}`;
  return selection(query, `WHERE ${conditions} ORDER BY at DESC`);
};

export const openCallFinder = (db: DatabaseSync, sessions: Sessions): CallFinder => {
  const statement = prepareOnce(db, 'objects');
  const rows = ({ text, values }: Query) => eachRow<Row>(statement(text), ...values);
  return {
    find: (workspace, query) => {
      const { within, before, status, limit } = query;
      if (!within) return [...rows(callsOfWorkspace(workspace, query))].map(recordOf);
      const { session, live } = within;
      const ends = sessions.spans(workspace, { session, ranges: live });
      const found: CallRecord[] = [];
      for (const span of olderThan(sessions.spans(workspace, within), before)) {
        for (const row of rows(callsOfSpan(workspace, span, query))) {
          const call = callWithin(session, ends, recordOf(row));
          if (!status || status.includes(call.status)) found.push(call);
          if (found.length >= limit) return found;
        }
      }
      return found;
    },
    findRepeated: (key, query) => {
      const root = sessions.rootOf(key);
      if (root === undefined) return undefined;
      const { workspace, session } = key;
      const own = sessions.spans(workspace, { session, ranges: query.live });
      for (const row of rows(callsWithInput(workspace, root, query))) {
        const call = recordOf(row);
        if (isEffective(call) && !own.some((span) => isWithin(span, call))) return call;
      }
      return undefined;
    },
  };
};
