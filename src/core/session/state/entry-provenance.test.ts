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

test('[PROV3] an entry that is put together by a patch is no surer than the least of what was copied into it', () => {
  const empty = { op: 'add', path: '/facts/x', value: {} } as const;
  const [afar, mine] = [copy('/facts/web', '/facts/x/a'), copy('/facts/said', '/facts/x/b')];
  expect(loweredBy(empty, afar, mine)).toEqual({ '/facts/x': 'unverified' });
  expect(loweredBy(empty, mine, afar)).toEqual({ '/facts/x': 'unverified' });
  expect(loweredBy(empty, mine)).toEqual({});
});

test('[PROV3] what was copied over a sure entry is not sure where it is copied next', () => {
  expect(loweredBy(copy('/facts/web', '/facts/said'), copy('/facts/said', '/facts/y'))).toEqual({
    '/facts/said': 'unverified',
    '/facts/y': 'unverified',
  });
});

test('[PROV3] a collection that is copied is no surer than what the patch had put into it', () => {
  expect(loweredBy(copy('/facts/web', '/own/w'), copy('/own', '/facts/y'))).toEqual({
    '/own/w': 'unverified',
    '/facts/y': 'unverified',
  });
});

test('[PROV3] an entry of a collection that was moved is no surer than that was', () => {
  const moved: PatchOperation[] = [
    { op: 'move', from: '/facts', path: '/scratch' },
    { op: 'add', path: '/facts', value: {} },
  ];
  expect(loweredBy(...moved, copy('/scratch/web', '/facts/y'))).toMatchObject({ '/facts/y': 'unverified' });
});

test('[PROV3] a whole state that an entry held is no surer than the entry', () => {
  expect(loweredBy(copy('/scratch/all', ''))).toEqual({ '/facts/told': 'unverified' });
});

test('[PROV3] an entry is not lowered by one whose name begins like its own', () => {
  expect(loweredBy({ op: 'add', path: '/facts/we', value: 'mine' }, copy('/facts/we', '/facts/y'))).toEqual({});
});

test('[PROV3] a record in place of a text is as sure as who wrote it, and what is gone has no provenance', () => {
  expect(loweredBy({ op: 'add', path: '/facts/rumour', value: { port: 80 } })).toEqual({});
  expect(loweredBy(copy('/facts/web', '/facts/said'), { op: 'remove', path: '/facts/said' })).toEqual({});
});
