import type { EventType, PayloadOf, SessionEvent } from '../../schema/event.ts';
import { holderName } from '../../schema/handoff.ts';
import type { Message } from '../../schema/message.ts';
import { taintText } from '../../schema/taint-text.ts';
import { printableLine } from '../terminal/printable.ts';
import { isoTime } from './time.ts';

type Part = Message['content'][number];
type Gists = { readonly [T in EventType]: (payload: PayloadOf<T>) => string };

const partGist = (part: Part): string => {
  switch (part.type) {
    case 'text':
      return part.text;
    case 'reasoning':
      return '(reasoning)';
    case 'file':
      return `[file ${part.name ?? part.mediaType}]`;
    case 'tool-call':
      return `→ ${part.tool}`;
    case 'tool-result':
      return `← ${part.tool} ${part.outcome}`;
  }
};

export const messageGist = ({ role, content }: Message): string =>
  `${role}: ${content.map((part: Part) => partGist(part)).join(' ')}`;

const changeSigns = { add: '+', replace: '~', remove: '-', test: '=' } as const;

const originText = (origin: NonNullable<PayloadOf<'files.snapshotted'>['origin']>): string => {
  if (origin.kind === 'folder') return origin.path;
  if (origin.kind === 'revert') return `before ${origin.seq}`;
  return origin.kind === 'git' ? `${origin.repository} at ${origin.commit}` : `${origin.session} at seq:${origin.seq}`;
};

const sourceText = { reconcile: 'its reconcile', replay: 'a recording', person: 'a person' } as const;

const gists: Gists = {
  'session.opened': ({ title }) => title ?? '',
  'session.forked': ({ parent, at, midTurn, lost }) =>
    `from ${parent} at seq:${at}${midTurn ? ', in the middle of a turn' : ''}${lost ? `; lost: seq:${lost.seq} to seq:${lost.to} of ${lost.session}` : ''}`,
  'session.described': ({ title, metadata, priority }) => title ?? priority ?? (metadata ? 'metadata' : ''),
  'session.shared': ({ visibility, sharedWith }) =>
    [visibility, sharedWith && (sharedWith.length > 0 ? `with ${sharedWith.join(', ')}` : 'with nobody')]
      .filter(Boolean)
      .join(', '),
  'session.pausing': ({ reason }) => reason ?? '',
  'session.paused': ({ reason }) => reason ?? '',
  'session.resumed': () => '',
  'session.closed': ({ reason }) => reason ?? '',
  'session.reopened': () => '',
  'session.archived': () => '',
  'session.restored': () => '',
  'session.rewound': ({ to, reason }) => `to seq:${to}${reason ? `: ${reason}` : ''}`,
  'session.quarantined': ({ seq, reason }) => `event ${seq} is damaged: ${reason}`,
  'message.appended': ({ message }) => messageGist(message),
  'agent.bound': ({ agent }) => `${agent.name}@${agent.version}`,
  'state.committed': ({ delta, provenance, cause, why }) =>
    `${delta
      .filter(({ op }) => op !== 'test')
      .map(({ op, path }) => `${changeSigns[op]}${path}`)
      .join(' ')}${cause ? ` by ${cause.tool}` : ''}${provenance ? ` (${provenance})` : ''}${why ? `: ${why}` : ''}`,
  'tool.called': ({ tool, callId, ran }) => `${tool} ${callId}${ran === false ? ', not run' : ''}`,
  'session.tracked': ({ holder }) => (holder ? `by process ${holder.process}` : ''),
  'call.reported': ({ tool, callId, outcome }) => `${tool} ${callId} ${outcome}`,
  'tool.retried': ({ tool, attempt }) => `${tool}, attempt ${attempt}`,
  'tool.completed': ({ tool, durationMs, source }) =>
    `${tool} ok in ${Math.round(durationMs)} ms${source ? `, by ${sourceText[source]}` : ''}`,
  'tool.failed': ({ tool, outcome, error, source }) =>
    `${tool} ${outcome}${source ? `, by ${sourceText[source]}` : ''}: ${error.message}`,
  'calls.happened': ({ verb, calls, more }) =>
    `${calls.length + more} beside this history after ${verb}: ${calls.map(({ tool, outcome }) => `${tool} ${outcome}`).join(', ')}`,
  'context.compacted': ({ from, to, evicted }) => `seq:${from} to seq:${to}, ${evicted[0] ?? ''}`,
  'input.admitted': ({ message, policy }) => `${policy}: ${messageGist(message)}`,
  'run.resumed': ({ worker }) => (worker ? `by ${worker}` : ''),
  'run.waiting': ({ for: what, reason, until }) =>
    `for ${what}${until === undefined ? '' : ` until ${isoTime(until)}`}${reason ? `: ${reason}` : ''}`,
  'model.called': ({ model, attempt, requestTokens }) =>
    `${model}, about ${requestTokens} tokens${attempt > 1 ? `, attempt ${attempt}` : ''}`,
  'model.completed': ({ model, usage, finish }) =>
    `${model} ${finish}, ${usage.inputTokens} tokens in, ${usage.outputTokens} out`,
  'model.failed': ({ model, failure, message, next }) =>
    `${model} ${failure}${next === undefined ? '' : `, asking ${next}`}: ${message}`,
  'message.progressed': ({ pieces }) => pieces.map(({ text }) => text).join(' '),
  'message.abandoned': ({ content, why, message }) =>
    content ? `${why ?? ''}: ${content.map(({ text }) => text).join(' ')}` : message,
  'approval.requested': ({ tool, summary, approval }) => `${tool}: ${summary} (${approval})`,
  'approval.settled': ({ answer, comment, approval }) => `${approval} ${answer}${comment ? `: ${comment}` : ''}`,
  'question.asked': ({ question }) => question,
  'question.answered': ({ answer }) => answer,
  'child.opened': ({ session }) => session,
  'child.waiting': ({ session, for: what, reason }) => `for ${what} in ${session}${reason ? `: ${reason}` : ''}`,
  'child.resumed': ({ session }) => session,
  'child.ended': ({ session, usage }) => `${session}, ${usage.inputTokens + usage.outputTokens} tokens`,
  'files.snapshotted': ({ changed, leftOut, origin, cause }) =>
    [
      ...Object.entries(changed).flatMap(([change, count]) => (count > 0 ? `${count} ${change}` : [])),
      ...Object.entries(leftOut).map(([reason, { count }]) => `${count} left out, ${reason}`),
      ...(cause ? [`by ${cause.tool}`] : []),
      ...(origin ? [`from ${originText(origin)}`] : []),
    ].join(', '),
  'files.conflicted': ({ conflicts, paths }) => `${conflicts} set aside: ${paths.join(', ')}`,
  'files.bound': ({ path, machine }) => `to ${path} on ${machine}`,
  'files.prepared': ({ command, exitCode }) => `${command}: ${exitCode === null ? 'ended' : `exit ${exitCode}`}`,
  'artifact.kept': ({ name, mediaType, size }) => `${name}, ${mediaType}, ${size} bytes`,
  'taint.inherited': ({ via, from, sources, more, files }) =>
    `by ${via} from ${from}: ${taintText({ sources, more }) || `${files?.all ? 'all' : (files?.paths.length ?? 0)} files`}`,
  'taint.cleared': ({ reason, files }) => `${files ? 'files too: ' : ''}${reason}`,
  'budget.set': ({ limits }) => JSON.stringify(limits),
  'cancel.requested': () => '',
  'quota.changed': () => '',
  'session.handed': ({ to, member, role, reason }) =>
    `to ${to === 'agent' ? to : holderName({ member, role })}${reason ? `: ${reason}` : ''}`,
  'run.started': ({ attempt, worker }) =>
    [...(attempt > 1 ? [`attempt ${attempt}`] : []), ...(worker ? [`by ${worker}`] : [])].join(' '),
  'run.ended': (end) => (end.status === 'failed' ? `failed ${end.error.code}: ${end.error.message}` : end.status),
};

const beginningOf = (text: string, maxChars: number): string =>
  text.length <= maxChars ? text : `${text.slice(0, maxChars).replace(/[\ud800-\udbff]$/, '')}…`;

/** Summary of an event on one line; a long one is truncated with …. */
export const eventGist = (event: SessionEvent, maxChars = 1000): string => {
  const gist = gists[event.type] as (payload: SessionEvent['payload']) => string;
  return beginningOf(printableLine(beginningOf(gist(event.payload), maxChars)), maxChars);
};
