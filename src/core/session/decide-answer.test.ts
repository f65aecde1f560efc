import { expect, test } from 'vitest';
import { type Actor, newId } from '../../schema/ids.ts';
import type { MemberRole } from '../../schema/member.ts';
import { decideAnswer } from './decide-answer.ts';
import type { SessionFold } from './fold.ts';
import type { ApprovalState } from './runs/run-fold.ts';

const [ann, bob] = ['member:ann', 'member:bob'] as Actor[] as [Actor, Actor];
const id = newId('apr');
const open: ApprovalState = {
  id,
  callId: 'call_1',
  tool: 'deploy',
  inputHash: 'h',
  summary: 'deploy',
  requestedBy: ann,
  requestedAt: 1,
  seq: 1,
};

const asking = (approval: Partial<ApprovalState>, part: object = {}) =>
  ({
    turn: 1,
    queue: [],
    approvals: { [id]: { ...open, ...approval } },
    questions: {},
    contributors: {},
    ...part,
  }) as unknown as SessionFold;
const approve = (
  fold: SessionFold,
  by: Actor,
  role: MemberRole = 'approver',
  now = 100,
  relatives: readonly Actor[] = [],
) => decideAnswer(fold, { type: 'answer', approval: id, answer: 'approved', role, relatives, now }, by).drafts.length;
const code = (wanted: string) => expect.objectContaining({ code: wanted });

test('[APPR2] an answer after the expiry time is rejected, even before a worker records the expiry', () => {
  expect(approve(asking({ expiresAt: 101 }), bob)).toBe(1);
  expect(() => approve(asking({ expiresAt: 100 }), bob)).toThrow(code('APPROVAL_SETTLED'));
});

test('[APPR3] the named roles may answer; if none are named, approvers and admins may', () => {
  expect(approve(asking({}), bob, 'admin')).toBe(1);
  expect(() => approve(asking({}), bob, 'member')).toThrow(code('APPROVAL_FORBIDDEN'));
  expect(approve(asking({ roles: ['member'] }), bob, 'member')).toBe(1);
  expect(() => approve(asking({ roles: ['member'] }), bob, 'admin')).toThrow(code('APPROVAL_FORBIDDEN'));
});

test('[APPR3, APPR5] notRequester also excludes contributors, those of relatives, and members whose inputs wait to steer the run', () => {
  const rule = { notRequester: true };
  const waits = (policy: string) => ({ queue: [{ policy, by: bob }] });
  expect(approve(asking({}), ann)).toBe(1);
  expect(() => approve(asking(rule), ann)).toThrow(code('APPROVAL_FORBIDDEN'));
  expect(approve(asking(rule, waits('queue')), bob)).toBe(1);
  expect(() => approve(asking(rule, waits('steer')), bob)).toThrow(code('APPROVAL_FORBIDDEN'));
  for (const hearing of ['unheard', 'heard']) {
    expect(() => approve(asking(rule, { contributors: { [bob]: hearing } }), bob)).toThrow(code('APPROVAL_FORBIDDEN'));
  }
  expect(approve(asking(rule, { contributors: { [bob]: 'past' } }), bob)).toBe(1);
  expect(() => approve(asking(rule), bob, 'approver', 100, [bob])).toThrow(code('APPROVAL_FORBIDDEN'));
});

test('[APPR1, APPR4] repeating an answer by the same person succeeds and writes nothing', () => {
  const settled = { settled: { answer: 'approved' as const, by: bob } };
  expect(approve(asking(settled), bob)).toBe(0);
  expect(() => approve(asking(settled), ann)).toThrow(code('APPROVAL_SETTLED'));
  const denied = { settled: { answer: 'denied' as const, by: bob } };
  expect(() => approve(asking(denied), bob)).toThrow(code('APPROVAL_SETTLED'));
});

test('[RUN5] a question can be answered only once', () => {
  const answer = { type: 'answer', question: 'call_1', text: 'yes' } as const;
  const fold = (answered?: string) =>
    asking({}, { questions: { call_1: { tool: 'ask', question: '?', answer: answered } } });
  expect(decideAnswer(fold(), answer, bob).drafts).toMatchObject([{ payload: { callId: 'call_1', answer: 'yes' } }]);
  expect(() => decideAnswer(fold('no'), answer, bob)).toThrow(code('APPROVAL_NOT_FOUND'));
});
