import type pg from 'pg';
import {
  type CallQuery,
  type CallRecord,
  mayHaveTakenEffect,
  type RepeatQuery,
  type SessionKey,
} from '../../../core/ports/store.ts';
import type { SessionId, WorkspaceId } from '../../../schema/ids.ts';
import { callWithin, isOnlyRunning } from '../../log/call-within.ts';
import { olderThan, type Segment } from '../../log/lineage.ts';
import { QueryText } from '../../log/query-text.ts';
import { seenCondition } from '../../log/seen-condition.ts';
import type { Source } from '../server/database.ts';
import type { Lineages } from './lineages.ts';
import { isLasting } from './migrations.ts';
import { placeSpans } from './place-spans.ts';

type Row = { readonly [Field in keyof CallRecord]: CallRecord[Field] | null };

const columns = `session, call_id as "callId", tool, status, run, turn, seq, at, actor, ended_seq as "endedSeq",
  duration_ms as "durationMs", input_hash as "inputHash", output_hash as "outputHash", source, effects,
  confined`;

const recordOf = (row: Row): CallRecord =>
  Object.fromEntries(Object.entries(row).filter(([, value]) => value !== null)) as unknown as CallRecord;

export const callsOfWorkspace = (workspace: WorkspaceId, asked: CallQuery): pg.QueryConfig => {
  const query = new QueryText('$');
  const conditions = [
    `workspace = ${query.place(workspace)}`,
    // Running calls are few and have their own partial index.
    isOnlyRunning(asked) ? ' and ended_seq is null' : '',
    query.narrow(asked),
    query.and(asked.status, (place) => `status = any(${place}::text[])`),
    asked.lasting ? ` and ${isLasting}` : '',
    query.goOn(asked.before),
    seenCondition(query, { values: 'perdure.session_values', session: 'tool_calls.session' }, workspace, asked.viewer),
  ].join('');
  return {
    text: `select ${columns} from perdure.tool_calls where ${conditions}
      order by at desc, session desc, seq desc limit ${query.place(asked.limit)}`,
    values: query.values,
  };
};

/**
 * The events that a query of one session covers. `left` are the spans that remain for this page. A call is treated as
 * ended only if its end is in `live`.
 */
interface CallSpans {
  readonly session: SessionId;
  readonly left: readonly Segment[];
  readonly live: readonly Segment[];
}

export const callsOfSpans = (
  workspace: WorkspaceId,
  { session, left, live }: CallSpans,
  asked: CallQuery,
): pg.QueryConfig => {
  const query = new QueryText('$');
  const here = query.place(workspace);
  const limit = query.place(asked.limit);
  const status = query.and(asked.status, (place) => {
    const hasEnded = `exists (select from ${placeSpans(query, live)}
      where span.session = c.session and c.ended_seq between span.first and span.last)`;
    const isOpenHere = `c.ended_seq is null and c.session = ${query.place(session)}`;
    return `case when ${hasEnded} or ${isOpenHere} then status else 'interrupted' end = any(${place}::text[])`;
  });
  const text = `select own.* from ${placeSpans(query, left)}
    cross join lateral (
      select ${columns} from perdure.tool_calls c
      where workspace = ${here} and session = span.session and seq between span.first and span.last
        ${query.narrow(asked)}${status}${asked.lasting ? ` and ${isLasting}` : ''}
      order by seq desc limit ${limit}
    ) own
    order by own.seq desc limit ${limit}`;
  return { text, values: query.values };
};

/** The newest call of the session's family with this tool and input, outside the spans of its live events. */
export const callWithInput = (
  { workspace, session }: SessionKey,
  { tool, inputHash }: RepeatQuery,
  live: readonly Segment[],
): pg.QueryConfig => {
  const query = new QueryText('$');
  const here = query.place(workspace);
  const text = `select ${columns} from perdure.tool_calls c
    where workspace = ${here}
      and root = (select root from perdure.sessions where workspace = ${here} and id = ${query.place(session)})
      and tool = ${query.place(tool)} and input_hash = ${query.place(inputHash)} and ${isLasting}
      and status = any(${query.place(mayHaveTakenEffect)}::text[])
      and not exists (select from ${placeSpans(query, live)}
        where span.session = c.session and c.seq between span.first and span.last)
    order by at desc limit 1`;
  return { text, values: query.values };
};

export const findRepeated = async (
  source: Source,
  lineages: Lineages,
  key: SessionKey,
  query: RepeatQuery,
): Promise<CallRecord | undefined> => {
  const { workspace, session } = key;
  const live = await lineages.spans(workspace, { session, ranges: query.live });
  const [row] = await source.read<Row>(workspace, callWithInput(key, query, live));
  return row && recordOf(row);
};

export const findCalls = async (
  source: Source,
  lineages: Lineages,
  workspace: WorkspaceId,
  query: CallQuery,
): Promise<readonly CallRecord[]> => {
  const { within, before } = query;
  const ask = async (statement: pg.QueryConfig) => (await source.read<Row>(workspace, statement)).map(recordOf);
  if (!within) return ask(callsOfWorkspace(workspace, query));
  const { session } = within;
  const left = olderThan(await lineages.spans(workspace, within), before);
  if (left.length === 0) return [];
  const live = await lineages.spans(workspace, { session, ranges: within.live });
  const calls = await ask(callsOfSpans(workspace, { session, left, live }, query));
  return calls.map((call) => callWithin(session, live, call));
};
