import { expect, test } from 'vitest';
import { openRuntime } from '../../runtime.ts';
import { openMemoryStore } from '../../testing/memory-store.ts';
import type { WatchFilter } from './record-filter.ts';

const open = async () => (await openRuntime({ store: openMemoryStore() })).sessions.open();

test('[WATCH1] a watcher receives all commits since the call of watchCommits, even before its iteration starts', async () => {
  const session = await open();
  await session.commit((draft) => Object.assign(draft.facts, { before: 1 }));
  const watching = session.watchCommits({ path: '/facts/**' });
  await session.commit((draft) => Object.assign(draft.facts, { first: 1 }));
  await session.commit((draft) => Object.assign(draft.facts, { second: 1 }));
  expect((await watching.next()).value).toMatchObject({ entries: ['/facts/first'] });
  expect((await watching.next()).value).toMatchObject({ entries: ['/facts/second'] });
  await watching.return();
});

test('[WATCH1, QRY6] a filter by provenance uses the provenance of entries, so a watcher receives the same commits as a query', async () => {
  const session = await open();
  const doubtful = session.watchCommits({ provenance: 'unverified' });
  const ofPort = { path: '/facts/port', provenance: 'unverified' } as const;
  const watchingPort = session.watchCommits(ofPort);
  await session.commit((draft) => Object.assign(draft.facts, { ports: [1] }), { provenance: 'unverified' });
  await session.commit((draft) => {
    draft.facts.port = 8080;
    (draft.facts.ports as number[]).push(2);
  });
  await session.commit((draft) => Object.assign(draft.facts, { port: 1 }), { provenance: 'unverified' });
  const seqs = (await session.commits({ provenance: 'unverified' })).commits.map(({ seq }) => seq);
  expect(seqs).toEqual([4, 3, 2]);
  for (const seq of seqs.toReversed()) expect((await doubtful.next()).value).toMatchObject({ seq });
  expect((await session.commits(ofPort)).commits.map(({ seq }) => seq)).toEqual([4]);
  expect((await watchingPort.next()).value).toMatchObject({ seq: 4 });
  await Promise.all([doubtful.return(), watchingPort.return()]);
});

test('[WATCH1] invalid options of a watch are rejected immediately', async () => {
  const session = await open();
  const filters = [
    { path: 'facts' },
    { path: '/**/status' },
    { provenance: 'bogus' as never },
    { after: -1 },
    { signal: {} as never },
    { paths: '/facts/**' } as never,
  ] satisfies WatchFilter[];
  for (const filter of filters) {
    expect(() => session.watchCommits(filter)).toThrow(expect.objectContaining({ code: 'INVALID_INPUT' }));
  }
});

test('[WATCH1] a watcher that is never iterated has no effect', async () => {
  const runtime = await openRuntime({ store: openMemoryStore() });
  const session = await runtime.sessions.open();
  await runtime.close();
  session.watchCommits();
  await expect(session.watchCommits().next()).rejects.toMatchObject({ code: 'RUNTIME_CLOSED' });
});
