import type { DatabaseSync } from 'node:sqlite';
import type { Claim, Claimed, Holder, Work } from '../../../core/ports/queue.ts';
import type { SessionKey } from '../../../core/ports/store.ts';
import type { WorkspaceId } from '../../../schema/ids.ts';
import { type AtWork, type KnownWorker, mayTake, pickWork } from '../../queue/pick-work.ts';
import { isAmong, type QueuedWork } from '../../queue/queued-work.ts';
import type { Admission } from '../file/admission.ts';
import { eachRow } from '../file/each-row.ts';
import { inTransaction } from '../file/in-transaction.ts';
import { queuedWorkOf, type WorkColumns, type WorkRows, workColumns } from './work-rows.ts';

type Row = QueuedWork & SessionKey;

/** Limits of one claim: workspaces visited per round, and rounds. */
const mostWorkspaces = 64;
const mostRounds = 16;

const isDue = 'ready = 0 AND visible_at IS NOT NULL AND visible_at <= ?';
const isHeld = 'worker IS NOT NULL AND visible_at > ?';

export const claimQueries = {
  firstDue: `SELECT 1 FROM work WHERE ${isDue} LIMIT 1`,
  markDue: `UPDATE work SET ready = 1 WHERE ${isDue}`,
  nextWorkspace:
    'SELECT workspace FROM work WHERE ready = 1 AND agent = ? AND workspace > ? ORDER BY workspace LIMIT 1',
  ready: `SELECT ${workColumns} FROM work WHERE ready = 1 AND agent = ? AND workspace = ? ORDER BY priority DESC, visible_at, id`,
  one: `SELECT ${workColumns} FROM work WHERE workspace = ? AND session = ? AND ready = 1`,
  nextAgent: 'SELECT agent FROM work WHERE ready = 1 AND lacks_agent = 0 AND agent > ? ORDER BY agent LIMIT 1',
  stranded: `SELECT ${workColumns} FROM work WHERE ready = 1 AND lacks_agent = 0 AND agent = ? ORDER BY visible_at`,
  heldIn: `SELECT count(*) AS n FROM work WHERE ${isHeld} AND workspace = ?`,
  heldFor: `SELECT count(*) AS n FROM work WHERE ${isHeld} AND agent = ?`,
  heldBy: `SELECT count(*) AS n FROM work WHERE ${isHeld} AND worker = ?`,
  own: 'SELECT workspace, session FROM work WHERE worker = ?',
  known: `SELECT worker, place, workspace, agents, concurrency, draining AS isDraining, lost_at AS lostAt FROM workers`,
  near: `SELECT DISTINCT worker, machine, process, process_start AS processStart FROM work
    WHERE worker IS NOT NULL AND machine = ? AND worker <> ?`,
} as const;

/** Claims work. Also returns the workspaces in which the claim released work of dead workers. */
export type ClaimWork = (claim: Claim) => Claimed & { readonly freed: ReadonlySet<WorkspaceId> };

export const openClaims = (db: DatabaseSync, work: WorkRows, admission: Admission): ClaimWork => {
  const prepare = (name: keyof typeof claimQueries) => db.prepare(claimQueries[name]);
  const [firstDue, markDue, known, near] = [prepare('firstDue'), prepare('markDue'), prepare('known'), prepare('near')];
  const [nextWorkspace, ready, one] = [prepare('nextWorkspace'), prepare('ready'), prepare('one')];
  const [nextAgent, stranded] = [prepare('nextAgent'), prepare('stranded')];
  const own = prepare('own');
  const [heldIn, heldFor, heldBy] = [prepare('heldIn'), prepare('heldFor'), prepare('heldBy')];
  /** For each agent, the workspace from which the next claim continues, so that no workspace starves. */
  const cursors = new Map<string, string>();

  const count = (statement: typeof heldIn, now: number, name: string): number =>
    Number((statement.get(now, name) as { n: number }).n);
  const knownWorkers = (now: number): readonly KnownWorker[] =>
    known.all().map(
      ({ worker, workspace, agents, isDraining, ...row }) =>
        ({
          ...row,
          ...(workspace !== null && { workspace }),
          agents: JSON.parse(String(agents)),
          isDraining: isDraining === 1,
          holds: count(heldBy, now, String(worker)),
        }) as KnownWorker,
    );

  /** Starts after the workspace where the last claim stopped, and wraps around to it. */
  function* workspacesFor(agent: string): Generator<string, void> {
    const since = cursors.get(agent) ?? '';
    for (let [at, isRound] = [since, false]; ; ) {
      const next = nextWorkspace.get(agent, at)?.workspace as string | undefined;
      if (next === undefined && isRound) return;
      if (next === undefined) [at, isRound] = ['', true];
      else if (isRound && next > since) return;
      else {
        at = next;
        yield next;
      }
    }
  }

  function* rowsOf(statement: typeof ready, ...values: readonly string[]): Generator<Row, void> {
    for (const row of eachRow<WorkColumns>(statement, ...values)) yield queuedWorkOf(row);
  }

  function* foreignRows(own: readonly string[]): Generator<Row, void> {
    for (let agent = ''; ; ) {
      const next = nextAgent.get(agent)?.agent as string | undefined;
      if (next === undefined) return;
      if (!own.includes(next)) yield* rowsOf(stranded, next);
      agent = next;
    }
  }

  /** One round of candidates. `isCut` says that more workspaces are left to visit. */
  const findFree = (claim: Claim, now: number): { readonly free: readonly Row[]; readonly isCut: boolean } => {
    const { workspace, sessions, agents, strandedMs } = claim;
    const workers = knownWorkers(now);
    const isFor = (row: Row): boolean => mayTake(row, claim, { workers, now });
    if (sessions && workspace === undefined) return { free: [], isCut: false };
    if (strandedMs !== undefined) {
      const isAsked = (row: Row): boolean =>
        (workspace === undefined || row.workspace === workspace) && (!sessions || sessions.includes(row.session));
      const free = foreignRows(agents).filter((row) => isAsked(row) && isFor(row));
      return { free: [...free.take(claim.count)], isCut: false };
    }
    if (sessions && workspace) {
      const free = sessions.flatMap((session) => [...rowsOf(one, workspace, session)]);
      return { free: free.filter(isFor), isCut: false };
    }
    const named = [...new Set([...agents, ''])];
    const most = Math.max(8, Math.floor(mostWorkspaces / named.length));
    let isCut = false;
    const free = named.flatMap((agent) => {
      const visited = workspace === undefined ? [...workspacesFor(agent).take(most)] : [workspace];
      if (visited.length === most) {
        isCut = true;
        cursors.set(agent, visited.at(-1)!);
      }
      return visited.flatMap((name) => [...rowsOf(ready, agent, name).filter(isFor).take(claim.count)]);
    });
    return { free, isCut };
  };

  const counts = (statement: typeof heldIn, now: number, names: readonly string[]): ReadonlyMap<string, number> =>
    new Map([...new Set(names)].map((name) => [name, count(statement, now, name)]));
  const atWork = (free: readonly Row[], { limits }: Claim, now: number): AtWork => ({
    workspaces: counts(
      heldIn,
      now,
      free.map(({ workspace }) => workspace),
    ),
    agents: counts(heldFor, now, Object.keys(limits?.perAgent ?? {})),
  });

  const take = (claim: Claim): readonly Work[] => {
    const taken: Work[] = [];
    const { holder } = claim;
    for (let round = 0; round < mostRounds && taken.length < claim.count; round++) {
      const now = Date.now();
      const wanted = { ...claim, count: claim.count - taken.length };
      const { free, isCut } = findFree(wanted, now);
      for (const row of pickWork(free, atWork(free, claim, now), wanted)) {
        work.take(row, claim, now);
        const { workspace, session, seq, agent } = row;
        taken.push({ workspace, session, seq, agent, lease: { holder, isExpired: false } });
      }
      if (!isCut) break;
    }
    return taken;
  };

  const knowsAll = ({ holder, held }: Claim): boolean =>
    !held || own.all(holder.worker).every((row) => isAmong(held, row as unknown as SessionKey));

  const isIdle = ({ agents, gone = [], strandedMs }: Claim): boolean =>
    gone.length === 0 &&
    strandedMs === undefined &&
    !firstDue.get(Date.now()) &&
    ![...agents, ''].some((agent) => nextWorkspace.get(agent, ''));

  return (claim) => {
    admission.check();
    const { worker, machine } = claim.holder;
    const { taken, freed } =
      isIdle(claim) && knowsAll(claim)
        ? { taken: [], freed: new Set<WorkspaceId>() }
        : inTransaction(db, () => {
            const freed = new Set((claim.gone ?? []).flatMap((gone) => [...work.leave(gone)]));
            if (claim.held) work.free(worker, claim.held);
            markDue.run(Date.now());
            return { taken: take(claim), freed };
          });
    const neighbours = near.all(machine, worker).map((holder) => ({ ...holder }) as unknown as Holder);
    return { taken, neighbours, freed };
  };
};
