import { expect, test } from 'vitest';
import type { SessionEvent } from '../../../schema/event.ts';
import { provenanceOf } from './provenance.ts';

const message = (role: string, more: object) =>
  ({ type: 'message.appended', payload: { message: { role, content: [] } }, ...more }) as unknown as SessionEvent;

test.each([
  ['a message of a member', message('user', { actor: 'member:ann' }), 'human'],
  ['an input of an agent', message('user', { actor: 'agent:boss' }), 'unverified'],
  ['an answer', message('assistant', { actor: 'member:ann' }), undefined],
  ['a result that a foreign loop tells', message('tool', { actor: 'member:ann' }), 'unverified'],
  [
    'a result that a run tells, which its journal has judged',
    message('tool', { actor: 'agent:a', run: 'run_1' }),
    undefined,
  ],
  ['what an importer brought, whoever said it', message('user', { actor: 'importer:codex' }), 'imported'],
])('[PROV1] %s', (_, event, provenance) => {
  expect(provenanceOf(event)).toBe(provenance);
});
