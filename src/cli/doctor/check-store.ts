import type { StoreInspection } from '../../runtime.ts';
import { type Finding, finding } from './finding.ts';

const schemaFinding = ({ schema, newestSchema }: { schema: number | undefined; newestSchema: number }): Finding => {
  if (schema === undefined)
    return finding('store', 'warn', 'it holds no sessions yet', '`perdure open` makes the first');
  if (schema < newestSchema) {
    const found = `its schema is ${schema}, and this release has ${newestSchema}`;
    return finding(
      'store',
      'warn',
      found,
      'back it up: the next command migrates it, and older releases then reject it',
    );
  }
  if (schema > newestSchema)
    return finding('store', 'warn', `its schema ${schema} is of a newer release`, 'upgrade perdure here too');
  return finding('store', 'ok', `schema ${schema}, current`);
};

const durability = ({ fsync, full_page_writes, synchronous_commit, standbys }: Record<string, string>): Finding => {
  const off = Object.entries({ fsync, full_page_writes, synchronous_commit }).filter(([, value]) => value === 'off');
  if (off.length > 0) {
    const names = off.map(([name]) => `${name} is off`).join(', ');
    return finding('store', 'fail', `${names}: acknowledged events can be lost`, 'switch it on in postgresql.conf');
  }
  if (!standbys) {
    const todo = 'if there is a standby, set synchronous_standby_names: `once` needs a failover that loses nothing';
    return finding('store', 'ok', `fsync on, synchronous_commit ${synchronous_commit}; no synchronous standby`, todo);
  }
  const isRemote = ['on', 'remote_apply'].includes(synchronous_commit ?? '');
  const found = `synchronous_commit ${synchronous_commit}, standbys ${standbys}`;
  if (isRemote) return finding('store', 'ok', found);
  return finding('store', 'warn', found, 'set synchronous_commit to on, so that a failover loses nothing');
};

/** What the store is, whether it can be written, and what survives a crash. */
export const checkStore = (store: StoreInspection, name: string): readonly Finding[] => {
  if (store.kind === 'other') return [finding('store', 'ok', 'a store of the configuration')];
  if (store.kind === 'sqlite') {
    const isFine = store.schema === undefined || [undefined, 'wal'].includes(store.journalMode);
    return [
      finding(
        'store',
        store.writeProblem ? 'fail' : 'ok',
        store.writeProblem ? `${name} cannot be written: ${store.writeProblem}` : `${name} can be read and written`,
        store.writeProblem && 'end the process that locks it, or make the file and its folder writable for this user',
      ),
      schemaFinding(store),
      finding(
        'store',
        isFine ? 'ok' : 'fail',
        `journal mode ${store.journalMode ?? 'not needed for reading'}`,
        isFine ? undefined : 'keep the file on a local disk, and let perdure open it once',
      ),
    ];
  }
  const { name: role, isExempt } = store.role;
  return [
    store.isStandby
      ? finding('store', 'fail', `${name} is a standby, which only reads`, 'name the primary with --store')
      : finding('store', 'ok', `${name} is a primary`),
    schemaFinding(store),
    durability(store.settings),
    isExempt
      ? finding('store', 'warn', `row-level security does not bind the role ${role}`, 'connect as an ordinary role')
      : finding('store', 'ok', `row-level security binds the role ${role}`),
  ];
};

/** Whether PostgreSQL has connections for this many processes. */
export const checkConnections = (store: StoreInspection, processes: number): readonly Finding[] => {
  if (store.kind !== 'postgres') return [finding('connections', 'ok', 'none needed: the store is not a server')];
  const { max, used, pool } = store.connections;
  // Each process also holds one connection for LISTEN.
  const wanted = Math.max(1, processes) * (pool + 1);
  const found = `${used} of ${max} in use; ${Math.max(1, processes)} × (${pool} + 1) = ${wanted} at most by perdure`;
  if (used >= max) return [finding('connections', 'fail', found, 'raise max_connections, or use a pooler')];
  if (wanted <= max) return [finding('connections', 'ok', found)];
  return [finding('connections', 'warn', found, 'lower PERDURE_POOL_SIZE, raise max_connections, or use a pooler')];
};

const skewMs = { warn: 1000, fail: 60_000 };

export const checkClocks = (store: StoreInspection): readonly Finding[] => {
  if (store.kind !== 'postgres') return [finding('clocks', 'ok', 'the store uses the clock of this machine')];
  const { aheadMs, withinMs } = store.clock;
  const found = `the server's clock is ${Math.abs(aheadMs)} ms ${aheadMs < 0 ? 'behind' : 'ahead of'} this one (± ${withinMs} ms)`;
  const off = Math.abs(aheadMs) - withinMs;
  const status = off > skewMs.fail ? 'fail' : off > skewMs.warn ? 'warn' : 'ok';
  return [
    finding('clocks', status, found, status === 'ok' ? undefined : 'synchronize both clocks, for example by NTP'),
  ];
};
