import { expect, test } from 'vitest';
import { type Actor, newId } from '../../schema/ids.ts';
import { memberRoles } from '../../schema/member-roles.ts';
import type { WaitReason } from '../../schema/run.ts';
import { waitReasons } from '../../schema/run.ts';
import { emptyState } from '../../schema/state.ts';
import { permissions } from '../runtime/permissions.ts';
import type { SessionFold } from './fold.ts';
import { noRuns } from './runs/run-fold.ts';
import { waitingOf } from './waiting.ts';

const since = { seq: 3, at: 5 };
const fold = (part: object = {}) =>
  ({ ...noRuns, holder: 'agent', runningCalls: {}, state: emptyState, ...part }) as unknown as SessionFold;
const from = (least: (typeof memberRoles)[number]) =>
  memberRoles.slice(memberRoles.indexOf(least)).map((role) => `role:${role}`);
const runOf = (waitingFor: WaitReason) => ({ id: newId('run'), waitingFor, wait: { ...since, reason: 'because' } });

test('[STWAIT1] the roles that can end a wait are those of the permission table', () => {
  const question = { tool: 'ask', question: 'Which?', ...since };
  expect(waitingOf(fold({ questions: { c: question } })).questions.c!.mayAnswer).toEqual(
    from(permissions.session.answer.role),
  );
  const roles = { budget: permissions.session.limit.role, quota: permissions.quotas.set.role } as const;
  for (const [reason, role] of Object.entries(roles)) {
    const [entry] = Object.values(waitingOf(fold({ run: runOf(reason as WaitReason) })).runs);
    expect(entry).toMatchObject({ what: expect.stringContaining('because'), since, mayAnswer: from(role) });
  }
});

test('[STWAIT1] only what still waits is shown, and each thing once', () => {
  const settled = { settled: { answer: 'denied', by: 'member:a' } };
  const approval = { id: 'apr', tool: 't', callId: 'a', summary: 's', seq: 1, requestedAt: 1, requestedBy: 'member:a' };
  const calls = { a: { tool: 't', input: '{}', ...since }, b: { tool: 'ask', input: '{}', ...since } };
  const child = { session: newId('ses'), ...since };
  const shown = waitingOf(
    fold({
      approvals: { apr: { ...approval, ...settled } },
      questions: { b: { tool: 'ask', question: 'q', answer: 'x', ...since } },
      children: { a: child, ended: { ...child, isEnded: true }, left: { ...child, isForsaken: true } },
      runningCalls: calls,
      queue: [{ run: newId('run'), cancelledBy: 'member:a' as Actor }],
      handoff: { seq: 1, since, by: 'member:a', replay: true },
      holder: 'human',
    }),
  );
  expect(shown).toEqual({
    approvals: {},
    questions: {},
    calls: {},
    subagents: { a: { what: 'is at work', since, tool: 't', callId: 'a', session: child.session } },
    inputs: {},
    runs: {},
    handoffs: {},
    more: {},
  });
});

test('[STWAIT1] a wait that another kind shows is not shown as one of the run', () => {
  const shown = waitReasons.filter((reason) => Object.keys(waitingOf(fold({ run: runOf(reason) })).runs).length > 0);
  expect(shown).toEqual(['budget', 'agent', 'model', 'quota']);
});

test('[STWAIT1] a question in a session that a member holds is for this member and admins', () => {
  const questions = { c: { tool: 'ask', question: 'Which?', ...since } };
  const handoff = { seq: 1, since, by: 'member:ann', member: 'bob' };
  const { questions: shown, handoffs } = waitingOf(fold({ questions, handoff, holder: 'human' }));
  const bob = ['member:bob', 'role:admin'];
  expect([shown.c!.mayAnswer, handoffs['1']!.mayAnswer]).toEqual([bob, bob]);
});

test('[CTX17] secrets are removed before a text is clipped', () => {
  const secret = 'k'.repeat(300);
  const questions = { c: { tool: 'ask', question: `Is it ${secret}?`, ...since } };
  const clean = (text: string) => text.replaceAll(secret, '[secret]');
  expect(waitingOf(fold({ questions }), clean).questions.c!.what).toBe('Is it [secret]?');
});
