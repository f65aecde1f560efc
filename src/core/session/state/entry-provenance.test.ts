import { expect, test } from 'vitest';
import type { Json } from '../../../schema/json.ts';
import { emptyState, type PatchOperation, type Provenance, type State } from '../../../schema/state.ts';
import type { SessionFold } from '../fold.ts';
import { loweredEntries } from './entry-provenance.ts';
import { changeState } from './state-change.ts';

const state: State = {
  ...emptyState,
  facts: { web: { text: 'from afar' }, rumour: 'from afar', said: 'by me' },
  scratch: { all: { ...emptyState, facts: { told: 'from afar' } } as unknown as Json },
};
const provenance = {
  '/facts/web': 'unverified',
  '/facts/rumour': 'unverified',
  '/facts/said': 'human',
  '/scratch/all': 'unverified',
} as const;

const loweredBy = (...patch: PatchOperation[]): Readonly<Record<string, Provenance>> =>
  loweredEntries({ state, provenance } as unknown as SessionFold, patch, changeState(state, patch), 'human');

const copy = (from: string, path: string): PatchOperation => ({ op: 'copy', from, path });

test('[PROV3] an entry that a patch assembles from copies gets the lowest provenance of its copied parts', () => {
  const empty = { op: 'add', path: '/facts/x', value: {} } as const;
  const [afar, mine] = [copy('/facts/web', '/facts/x/a'), copy('/facts/said', '/facts/x/b')];
  expect(loweredBy(empty, afar, mine)).toEqual({ '/facts/x': 'unverified' });
  expect(loweredBy(empty, mine, afar)).toEqual({ '/facts/x': 'unverified' });
  expect(loweredBy(empty, mine)).toEqual({});
});

test('[PROV3] a copy of an overwritten entry gets the provenance of the value that overwrote it', () => {
  expect(loweredBy(copy('/facts/web', '/facts/said'), copy('/facts/said', '/facts/y'))).toEqual({
    '/facts/said': 'unverified',
    '/facts/y': 'unverified',
  });
});

test('[PROV3] a copied collection gets the lowest provenance of what the patch put into it', () => {
  expect(loweredBy(copy('/facts/web', '/own/w'), copy('/own', '/facts/y'))).toEqual({
    '/own/w': 'unverified',
    '/facts/y': 'unverified',
  });
});

test('[PROV3] an entry copied out of a moved collection keeps the low provenance of that collection', () => {
  const moved: PatchOperation[] = [
    { op: 'move', from: '/facts', path: '/scratch' },
    { op: 'add', path: '/facts', value: {} },
  ];
  expect(loweredBy(...moved, copy('/scratch/web', '/facts/y'))).toMatchObject({ '/facts/y': 'unverified' });
});

test('[PROV3] a whole state copied out of an entry keeps the provenance of that entry', () => {
  expect(loweredBy(copy('/scratch/all', ''))).toEqual({ '/facts/told': 'unverified' });
});

test('[PROV3] an entry is not lowered by another entry whose name has the same prefix', () => {
  expect(loweredBy({ op: 'add', path: '/facts/we', value: 'mine' }, copy('/facts/we', '/facts/y'))).toEqual({});
});

test('[PROV3] a record that replaces a text gets the provenance of its commit, and a removed entry has none', () => {
  expect(loweredBy({ op: 'add', path: '/facts/rumour', value: { port: 80 } })).toEqual({});
  expect(loweredBy(copy('/facts/web', '/facts/said'), { op: 'remove', path: '/facts/said' })).toEqual({});
});
