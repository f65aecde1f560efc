import type { PayloadOf, SessionEvent } from '../../../schema/event.ts';
import { type Actor, outsideActor } from '../../../schema/ids.ts';
import type { Message } from '../../../schema/message.ts';
import { segmentsOfPointer } from '../../../schema/pointer.ts';
import type { State } from '../../../schema/state.ts';
import { shorten } from '../context/clip.ts';
import { entriesTouched } from '../state/touched-paths.ts';
import type { RunFold, Since } from './run-fold.ts';

/** One thing that a person did while the session was with people. `what` is one line, with quoted text clipped. */
export interface PersonAct {
  readonly by: Actor;
  readonly what: string;
}

/**
 * A handoff to a person that the model has not been informed about. It is built while a person holds the session, kept
 * after the session is handed back, and removed by the event that reports it to the model.
 */
export interface PendingHandoff {
  /** The seq of the `session.handed` that began it. */
  readonly seq: number;
  /** When the session was handed to the people who hold it, or who held it last. */
  readonly since: Since;
  readonly by: Actor;
  readonly member?: PayloadOf<'session.handed'>['member'];
  readonly role?: PayloadOf<'session.handed'>['role'];
  readonly reason?: string | undefined;
  /** The agent's call that began it. The result of this call reports the handoff. */
  readonly callId?: string | undefined;
  readonly acts: readonly PersonAct[];
  /** The number of acts that `acts` leaves out. */
  readonly moreActs: number;
  /** How each changed file was changed, by path. */
  readonly files: Readonly<Record<string, string>>;
  readonly moreFiles: number;
  /** Set once a party that is no member of the workspace acted, such as a program that changed the folder. */
  readonly hasOutsiders?: true;
  /** Set in the fork of a replay. No person is asked for anything. */
  readonly replay?: true;
  /** Who handed the session back, and why. Absent while a person holds the session. */
  readonly back?: { readonly by: Actor; readonly why?: string | undefined } | undefined;
}

export interface HandoffFold {
  readonly handoff?: PendingHandoff | undefined;
}

/** What the fold of a handoff reads of the session. */
interface Around extends HandoffFold, Pick<RunFold, 'approvals' | 'questions'> {
  readonly state: State;
}

export const maxActs = 30;
export const maxFiles = 50;
const quotedChars = 300;
const maxPaths = 5;

/** Text of a person or a tool as one line, quoted and clipped, so that it cannot pass for the runtime's own words. */
export const quoted = (text: string, maxChars = quotedChars): string => JSON.stringify(shorten(text, maxChars));

const because = (why: string | undefined): string => (why ? `, because ${quoted(why)}` : '');

const textOf = ({ content }: Message): string =>
  content
    .map((part) => {
      if (part.type === 'text') return part.text;
      return 'tool' in part ? `[${part.type} of ${part.tool}, call ${part.callId}]` : `[${part.type}]`;
    })
    .join(' ');

const roleText = { user: 'a message', assistant: 'an answer in your place', tool: 'a result', system: 'a message' };

const changedPaths = ({ delta }: PayloadOf<'state.committed'>): readonly string[] =>
  entriesTouched(delta).filter((path) => !path.startsWith('/filesModified'));

const pathsText = (paths: readonly string[]): string => {
  const shown = paths.slice(0, maxPaths).map((path) => quoted(path, 100));
  return `${shown.join(', ')}${paths.length > maxPaths ? ` and ${paths.length - maxPaths} more` : ''}`;
};

const actOf = (before: Around, event: SessionEvent): string | undefined => {
  switch (event.type) {
    case 'message.appended': {
      const { message } = event.payload;
      return `wrote ${roleText[message.role]}: ${quoted(textOf(message))}`;
    }
    case 'state.committed': {
      const paths = changedPaths(event.payload);
      const why = because(event.payload.why);
      return paths.length === 0 && !why ? undefined : `changed ${paths.length ? pathsText(paths) : 'files'}${why}`;
    }
    case 'approval.settled': {
      const { approval, answer, comment } = event.payload;
      const asked = before.approvals[approval];
      return `${answer} the call ${asked ? `${asked.tool} (${asked.callId})` : approval}${because(comment)}`;
    }
    case 'question.answered': {
      const asked = before.questions[event.payload.callId];
      return `answered ${asked ? quoted(asked.question, 150) : 'a question'} with ${quoted(event.payload.answer)}`;
    }
    case 'artifact.kept':
      return `kept the artifact ${quoted(event.payload.name)}`;
    case 'budget.set':
      return `set the budget to ${JSON.stringify(event.payload.limits)}${because(event.payload.reason)}`;
    case 'session.rewound':
      return `rewound the session to event ${event.payload.to}${because(event.payload.reason)}`;
    case 'run.ended':
      return event.payload.status === 'cancelled' ? 'cancelled the run' : undefined;
    default:
      return undefined;
  }
};

const withAct = (handoff: PendingHandoff, act: PersonAct | undefined): PendingHandoff => {
  if (!act) return handoff;
  return handoff.acts.length < maxActs
    ? { ...handoff, acts: [...handoff.acts, act] }
    : { ...handoff, moreActs: handoff.moreActs + 1 };
};

const withFiles = (handoff: PendingHandoff, event: SessionEvent, { filesModified }: State): PendingHandoff => {
  if (event.type !== 'state.committed') return handoff;
  const files = { ...handoff.files };
  let more = handoff.moreFiles;
  for (const entry of entriesTouched(event.payload.delta)) {
    const [collection, path] = segmentsOfPointer(entry);
    if (collection !== 'filesModified' || path === undefined) continue;
    if (Object.hasOwn(files, path) || Object.keys(files).length < maxFiles)
      files[path] = filesModified[path]?.change ?? 'no longer changed';
    else more += 1;
  }
  return { ...handoff, files, moreFiles: more };
};

const isPerson = (actor: Actor): boolean => !/^(agent:|tool:|system$)/.test(actor);

const nothingDone = { acts: [], moreActs: 0, files: {}, moreFiles: 0 };

const handed = (before: PendingHandoff | undefined, event: SessionEvent<'session.handed'>): PendingHandoff => {
  const { payload, actor: by, seq, at } = event;
  const { to, member, role, reason, callId, replay } = payload;
  const since = { seq, at };
  if (to === 'agent') return { ...(before ?? { seq, since, by, ...nothingDone }), back: { by, why: reason } };
  const target = { by, since, member, role, reason };
  // The model has not been informed about the earlier handoff, so its report covers both.
  if (!before) return { seq, ...target, callId, ...nothingDone, ...(replay && { replay }) };
  const name = member === undefined ? role && `role:${role}` : `member:${member}`;
  const act = { by, what: `handed the session to ${name ?? 'a person'}${because(reason)}` };
  return { ...withAct(before, act), ...target, callId: callId ?? before.callId, back: undefined };
};

/** The event that reports the handoff to the model. */
const reports = (handoff: PendingHandoff, event: SessionEvent): boolean => {
  if (event.type === 'message.appended') return event.payload.handoff === handoff.seq;
  const isEnd = event.type === 'tool.completed' || event.type === 'tool.failed';
  return isEnd && handoff.back !== undefined && event.payload.callId === handoff.callId;
};

/** The pending handoff after the event. `after` is the state of the session after the event. */
export const foldHandoff = (before: Around, event: SessionEvent, after: State): PendingHandoff | undefined => {
  const { handoff } = before;
  if (event.type === 'session.handed') return handed(handoff, event);
  if (!handoff) return undefined;
  if (reports(handoff, event)) return undefined;
  if (event.type === 'session.forked') {
    const { callId: _, ...rest } = handoff;
    return { ...rest, back: handoff.back ?? { by: event.actor } };
  }
  if (event.type === 'session.rewound') {
    const { actor: by } = event;
    const what = actOf(before, event)!;
    return handoff.back ? undefined : { ...handoff, callId: undefined, ...nothingDone, acts: [{ by, what }] };
  }
  // After the session is handed back, only changes that people made in its folder by hand are still found.
  const counts = handoff.back
    ? event.type === 'state.committed' && event.actor === outsideActor && !event.payload.cause
    : isPerson(event.actor);
  if (!counts) return handoff;
  const what = actOf(before, event);
  const acted = withAct(handoff, what === undefined ? undefined : { by: event.actor, what });
  const isOfMember = acted.hasOutsiders ? false : event.actor.startsWith('member:');
  return withFiles(isOfMember ? acted : { ...acted, hasOutsiders: true }, event, after);
};
