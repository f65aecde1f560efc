import { z } from 'zod';
import { PerdureError } from '../../schema/error.ts';
import { MemberId, SessionId } from '../../schema/ids.ts';
import { Text } from '../../schema/json.ts';
import { Holder, Status } from '../../schema/lifecycle.ts';
import { parseInput } from '../../schema/parse-input.ts';
import { runStatuses } from '../../schema/statuses.ts';
import type { SessionSummary } from '../../schema/summary.ts';
import { wrongCursor } from '../engine/page.ts';
import type { LogAccess } from '../engine/scope.ts';
import type { ValueConditions } from '../ports/session-value.ts';
import type { ListPosition, ListQuery, Store } from '../ports/store.ts';
import { agentValue, metadataValue } from '../session/session-values.ts';

const RunStatus = z.enum(runStatuses);
const Time = z.union([z.date(), z.number()]);

/** Maximum number of metadata fields that one listing can name. */
const maxFields = 8;

const ListOptions = z.strictObject({
  status: z.union([Status, z.array(Status)]).optional(),
  /** The name of the agent that the session is bound to. */
  agent: Text.min(1).max(100).optional(),
  /** The member that owns the session. */
  member: MemberId.optional(),
  holder: Holder.optional(),
  /** The status of the current run, or of the last one. */
  runStatus: z.union([RunStatus, z.array(RunStatus)]).optional(),
  /** Values that the metadata must have. Only texts, numbers, booleans and null can be compared. */
  metadata: z
    .record(Text.max(200), z.union([Text, z.number(), z.boolean(), z.null()]))
    .refine((fields) => Object.keys(fields).length <= maxFields, { error: `expected at most ${maxFields} fields` })
    .optional(),
  /** The time of the last change, both ends inclusive. */
  since: Time.optional(),
  until: Time.optional(),
  /**
   * The beginning of an id, with or without `ses_`, or at least the last 4 characters of one. Such a listing is sorted
   * by id.
   */
  idPart: z
    .string()
    .regex(/^(ses_)?\w{0,40}$/, { error: 'expected letters and digits of an id' })
    .optional(),
  /** Also lists private sessions of others. Only for admins, and audited. */
  includePrivate: z.boolean().default(false),
  limit: z.int().min(1).max(1000).default(50),
  cursor: z.string().optional(),
  /**
   * The sort order. `change`, the default, lists the newest change first. `id` reaches every session, even one whose
   * time of change was damaged.
   */
  by: z.enum(['change', 'id']).optional(),
});
export type ListOptions = z.input<typeof ListOptions>;

export interface SessionPage {
  readonly sessions: readonly SessionSummary[];
  /**
   * The cursor of the next page. Absent on the last page. A session that changes between two pages moves to the front,
   * so later pages do not show it. With several filters a page can be short, because it reads a bounded part of the
   * index.
   */
  readonly cursor?: string;
}

type Order = NonNullable<ListQuery['by']>;

/** A cursor names its order, so that a listing in another order rejects it. */
const cursorOf = ({ updatedAt, id }: ListPosition, by: Order): string =>
  by === 'id' ? `id.${id}` : `${updatedAt}.${id}`;

const parseCursor = (cursor: string | undefined, by: Order): ListQuery['after'] => {
  if (cursor === undefined) return undefined;
  const [, place, id] = (by === 'id' ? /^(id)\.(.+)$/ : /^(-?\d{1,16})\.(.+)$/).exec(cursor) ?? [];
  // A listing by id must also continue after a damaged id.
  const isOne = by === 'id' ? id !== undefined : SessionId.safeParse(id).success;
  if (!isOne) throw wrongCursor();
  return { updatedAt: by === 'id' ? 0 : Number(place), id: id as SessionId };
};

const conditionsOf = (asked: z.output<typeof ListOptions>): ValueConditions => {
  const { agent, member, holder, runStatus, metadata = {} } = asked;
  const run = typeof runStatus === 'string' ? [runStatus] : runStatus;
  return [
    ...Object.entries(metadata).map(([key, value]) => [metadataValue(key, value)]),
    ...(member !== undefined ? [[{ name: 'owner', value: member }]] : []),
    ...(agent !== undefined ? [[agentValue(agent)]] : []),
    ...(run ? [run.map((value) => ({ name: 'run', value }))] : []),
    ...(holder !== undefined ? [[{ name: 'holder', value: holder }]] : []),
  ];
};

const timeOf = (time: Date | number | undefined): number | undefined => (time === undefined ? undefined : Number(time));

export const listSessions = async (
  { store, workspace }: Pick<LogAccess, 'store' | 'workspace'>,
  listPrivate: Store['list'],
  options: ListOptions = {},
): Promise<SessionPage> => {
  const asked = parseInput('the query', ListOptions, options);
  const { status, since, until, idPart, limit, cursor } = asked;
  const by = idPart === undefined ? (asked.by ?? 'change') : 'id';
  if (by !== (asked.by ?? by)) {
    throw new PerdureError('INVALID_INPUT', 'a listing with idPart is sorted by id: leave out by, or give id');
  }
  const query: ListQuery = {
    status: typeof status === 'string' ? [status] : status,
    where: conditionsOf(asked),
    since: timeOf(since),
    until: timeOf(until),
    idPart: idPart?.replace(/^ses_/, ''),
    limit,
    by,
    after: parseCursor(cursor, by),
  };
  const { sessions, next } = asked.includePrivate
    ? await listPrivate(workspace, query)
    : await store.list(workspace, query);
  return { sessions, ...(next && { cursor: cursorOf(next, by) }) };
};
