import { z } from 'zod';
import { AuditEntry } from '../../schema/audit-entry.ts';
import { AuditId, newId, type WorkspaceId } from '../../schema/ids.ts';
import { parseInput } from '../../schema/parse-input.ts';
import { writeOf } from '../engine/change-records.ts';
import type { Caller, RecordAccess, Secrets } from '../engine/scope.ts';
import type { Clock } from '../ports/clock.ts';
import type { Records } from '../ports/records.ts';
import { type Audited, outcomeOf } from './guard.ts';

const ListOptions = z.strictObject({
  limit: z.int().min(1).max(1000).default(50),
  cursor: AuditId.optional(),
});

export interface AuditPage {
  readonly entries: readonly AuditEntry[];
  /** The cursor of the next page. Absent on the last page. */
  readonly cursor?: string;
}

export interface Audit {
  /** The entries, newest first. */
  list(options?: { readonly limit?: number | undefined; readonly cursor?: string | undefined }): Promise<AuditPage>;
}

export interface AuditTrailOptions {
  readonly records: Records;
  readonly workspace: WorkspaceId;
  readonly caller: Caller;
  readonly clock: Clock;
  readonly secrets: Pick<Secrets, 'redactor'>;
  /** Called if an outcome could not be recorded. The entry then stays `asked`. */
  onWarning(problem: unknown): void;
}

const maxTargetChars = 200;

/**
 * Returns the redacted target, because a caller may pass a secret or a token instead of a name. Returns undefined if
 * redaction is impossible.
 */
const shownTarget = async (secrets: AuditTrailOptions['secrets'], target: string): Promise<string | undefined> => {
  try {
    const redacted = (await secrets.redactor()).text(target).replaceAll(/pdk_\S+/g, 'pdk_…');
    return redacted.slice(0, maxTargetChars).toWellFormed();
  } catch {
    return undefined;
  }
};

/** Records each verb before it is executed, and its outcome afterwards. A crash in between leaves the entry `asked`. */
export const auditTrail = (options: AuditTrailOptions): Audited => {
  const { records, workspace, caller, clock, secrets, onWarning } = options;
  const write = async (entry: AuditEntry, onVersion: number): Promise<void> => {
    await records.writeRecords(workspace, [writeOf('audit', entry, onVersion)]);
  };
  return async (verb, askedOf, work) => {
    const { member, key } = caller;
    const id = newId('aud');
    const target = askedOf === undefined ? undefined : await shownTarget(secrets, askedOf);
    const named = { ...(key && { key }), ...(target !== undefined && { target }) };
    const asked: AuditEntry = { id, at: clock.now(), member, verb, ...named, outcome: 'asked' };
    await write(asked, 0);
    const recordOutcome = async (outcome: string): Promise<void> => {
      try {
        const { version } = (await records.record(workspace, 'audit', id))!;
        await write({ ...asked, outcome }, version);
      } catch (problem) {
        onWarning(problem);
      }
    };
    try {
      const result = await work();
      await recordOutcome('done');
      return result;
    } catch (error) {
      await recordOutcome(outcomeOf(error));
      throw error;
    }
  };
};

export const auditOf = ({ records, workspace }: RecordAccess): Audit => ({
  list: async (options = {}) => {
    const { limit, cursor } = parseInput('the query', ListOptions, options);
    const query = { limit: limit + 1, order: 'descending', after: cursor } as const;
    const entries = (await records.records(workspace, 'audit', query)).map(({ body }) => AuditEntry.parse(body));
    const page = entries.slice(0, limit);
    return { entries: page, ...(entries.length > limit && { cursor: page.at(-1)!.id }) };
  },
});
