import { deepFreeze } from '../../schema/deep-freeze.ts';
import type { MemberRole } from '../../schema/member.ts';
import { isAtLeast, memberRoles } from '../../schema/member-roles.ts';
import type { Message } from '../../schema/message.ts';
import { awaited, type WaitReason } from '../../schema/run.ts';
import type { ShownState } from '../../schema/state.ts';
import {
  maxWaiting,
  maxWaitingChars,
  type Waiting,
  type WaitingEntry,
  type WaitingKind,
  waitingKinds,
} from '../../schema/waiting.ts';
import { clip, shorten } from './context/clip.ts';
import { defaultRoles } from './decide-answer.ts';
import type { SessionFold } from './fold.ts';

/** Removes secrets from a text. It runs before the text is clipped, because a clipped secret is not recognized. */
type Clean = (text: string) => string;
/** Makes one line of a text, clipped. */
type ToLine = (text: string) => string;
/** The entry is made only if it is among the first of its kind. */
type Found = readonly [id: string, make: (line: ToLine) => WaitingEntry];

/** A secret that begins in the shown part of a text ends within these characters. */
const cleanedChars = 64 * 1024;
const maxOptions = 20;

const lineBy =
  (clean: Clean): ToLine =>
  (text) =>
    shorten(clean(clip(text, cleanedChars)).replaceAll(/\s+/g, ' ').trim().toWellFormed(), maxWaitingChars);

const rolesFrom = (least: MemberRole): string[] =>
  memberRoles.filter((role) => isAtLeast(role, least)).map((role) => `role:${role}`);

/** The people who may act in the session as its holder. */
const holders = ({ holder, handoff }: SessionFold): string[] => {
  if (holder !== 'human' || !handoff) return rolesFrom('member');
  return handoff.member === undefined
    ? rolesFrom(handoff.role ?? 'member')
    : [`member:${handoff.member}`, 'role:admin'];
};

const openApprovals = ({ approvals, run }: SessionFold): readonly Found[] =>
  Object.values(approvals)
    .filter(({ settled }) => !settled)
    .map(({ id, tool, callId, summary, seq, requestedAt, requestedBy, expiresAt, roles, notRequester }) => [
      id,
      (line) => ({
        what: line(summary),
        since: { seq, at: requestedAt },
        ...(expiresAt !== undefined && { until: expiresAt }),
        tool,
        callId,
        ...(run && { run: run.id }),
        by: requestedBy,
        mayAnswer: (roles ?? defaultRoles).slice(0, maxOptions).map((role) => `role:${role}`),
        ...(notRequester && { notRequester }),
      }),
    ]);

const openQuestions = (fold: SessionFold): readonly Found[] =>
  Object.entries(fold.questions)
    .filter(([, { answer }]) => answer === undefined)
    .map(([callId, { tool, question, options, seq, at }]) => [
      callId,
      (line) => ({
        what: line(question),
        since: { seq, at },
        tool,
        callId,
        ...(fold.run && { run: fold.run.id }),
        mayAnswer: holders(fold),
        ...(options && { options: options.slice(0, maxOptions).map(line) }),
      }),
    ]);

/** Calls in flight, except those that wait for an answer or a subagent, which are shown as such. */
const callsInFlight = ({ runningCalls, questions, children }: SessionFold): readonly Found[] =>
  Object.entries(runningCalls)
    .filter(([callId]) => !Object.hasOwn(questions, callId) && !Object.hasOwn(children, callId))
    .map(([callId, { tool, seq, at, input }]) => [
      callId,
      (line) => ({ what: line(input), since: { seq, at }, tool, callId }),
    ]);

const waitText = (reason: WaitReason, why: string | undefined): string =>
  `waits for ${awaited[reason]}${why ? `: ${why}` : ''}`;

const subagents = ({ children, runningCalls }: SessionFold): readonly Found[] =>
  Object.entries(children)
    .filter(([, { isEnded, isForsaken }]) => !isEnded && !isForsaken)
    .map(([callId, { session, waiting, ...opened }]) => [
      callId,
      (line) => {
        const { seq, at } = waiting ?? opened;
        const tool = runningCalls[callId]?.tool;
        const what = waiting ? line(waitText(waiting.for, waiting.reason)) : 'is at work';
        return { what, since: { seq, at }, ...(tool !== undefined && { tool }), callId, session };
      },
    ]);

const textOf = ({ content }: Message): string =>
  content.map((part) => (part.type === 'text' ? part.text : `[${part.type}]`)).join(' ');

const waitingInputs = ({ queue }: SessionFold): readonly Found[] =>
  queue
    .filter(({ cancelledBy }) => cancelledBy === undefined)
    .map(({ run, message, seq, at, by, notBefore }) => [
      run,
      (line) => ({
        what: line(textOf(message)),
        since: { seq, at },
        ...(notBefore !== undefined && { until: notBefore }),
        run,
        by,
      }),
    ]);

/** The waits that no other kind shows, and the least role that can end each by hand. */
const waitsOfRun: Partial<Readonly<Record<WaitReason, { readonly role?: MemberRole }>>> = {
  budget: { role: 'approver' },
  quota: { role: 'admin' },
  model: {},
  agent: {},
};

const waitingRuns = ({ run }: SessionFold): readonly Found[] => {
  const { waitingFor, wait, waitsIn, waitsUntil } = run ?? {};
  const ends = waitingFor && waitsOfRun[waitingFor];
  if (!run || !wait || !ends || waitsIn) return [];
  const entry = (line: ToLine): WaitingEntry => ({
    what: line(waitText(waitingFor, wait.reason)),
    since: { seq: wait.seq, at: wait.at },
    ...(waitsUntil !== undefined && { until: waitsUntil }),
    run: run.id,
    by: run.requestedBy,
    ...(ends.role && { mayAnswer: rolesFrom(ends.role) }),
  });
  return [[run.id, entry]];
};

const handoffs = (fold: SessionFold): readonly Found[] => {
  const { holder, handoff } = fold;
  if (holder !== 'human' || !handoff || handoff.back || handoff.replay) return [];
  const { seq, since, by, reason, callId } = handoff;
  const entry = (line: ToLine): WaitingEntry => ({
    what: line(reason ?? 'a person holds the session'),
    since,
    ...(callId !== undefined && { callId }),
    by,
    mayAnswer: holders(fold),
  });
  return [[String(seq), entry]];
};

const finders: Readonly<Record<WaitingKind, (fold: SessionFold) => readonly Found[]>> = {
  approvals: openApprovals,
  questions: openQuestions,
  calls: callsInFlight,
  subagents,
  inputs: waitingInputs,
  runs: waitingRuns,
  handoffs,
};

/**
 * What the session waits for at the seq of its fold. It has the first entries of each kind and the number of the
 * others, so its size is bounded.
 */
export const waitingOf = (fold: SessionFold, clean: Clean = (text) => text): Waiting => {
  const line = lineBy(clean);
  const found = waitingKinds.map((kind) => [kind, finders[kind](fold)] as const);
  const shown = found.map(([kind, all]) => [
    kind,
    Object.fromEntries(all.slice(0, maxWaiting).map(([id, make]) => [id, make(line)])),
  ]);
  const more = found.flatMap(([kind, { length }]) => (length > maxWaiting ? [[kind, length - maxWaiting]] : []));
  return deepFreeze({ ...Object.fromEntries(shown), more: Object.fromEntries(more) }) as Waiting;
};

/** The state as readers receive it. */
export const shownState = (fold: SessionFold): ShownState => Object.freeze({ ...fold.state, waiting: waitingOf(fold) });
