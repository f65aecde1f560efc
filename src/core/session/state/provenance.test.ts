import { expect, test } from 'vitest';
import type { SessionEvent } from '../../../schema/event.ts';
import { provenanceOf } from './provenance.ts';

const message = (role: string, more: object) =>
  ({ type: 'message.appended', payload: { message: { role, content: [] } }, ...more }) as unknown as SessionEvent;

test.each([
  ['a user message by a member is human', message('user', { actor: 'member:ann' }), 'human'],
  ['a user message by an agent is unverified', message('user', { actor: 'agent:boss' }), 'unverified'],
  ['an assistant message has no provenance', message('assistant', { actor: 'member:ann' }), undefined],
  ['a tool result from a loop outside Perdure is unverified', message('tool', { actor: 'member:ann' }), 'unverified'],
  [
    'a tool result in a run has none, because the event of the call already counts',
    message('tool', { actor: 'agent:a', run: 'run_1' }),
    undefined,
  ],
  ['a message by an importer is imported, whatever its role', message('user', { actor: 'importer:codex' }), 'imported'],
])('[PROV1] %s', (_, event, provenance) => {
  expect(provenanceOf(event)).toBe(provenance);
});
