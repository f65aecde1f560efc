import type { SessionEvent } from '../../schema/event.ts';
import type { SessionId } from '../../schema/ids.ts';
import type { Message } from '../../schema/message.ts';
import { hasProvenance } from '../../schema/state.ts';
import type { TraceNode } from '../../schema/trace.ts';
import { shorten } from '../session/context/clip.ts';
import { provenanceOf } from '../session/state/provenance.ts';
import { entriesTouched } from '../session/state/touched-paths.ts';

const maxChars = 200;

export const nodeId = (session: SessionId, seq: number): string => `${session}/${seq}`;

const line = (text: string): string =>
  shorten(
    shorten(text, 10 * maxChars)
      .replace(/\s+/g, ' ')
      .trim(),
    maxChars,
  );

const valueLine = (value: unknown): string => line(typeof value === 'string' ? value : JSON.stringify(value));

const messageLine = ({ content }: Message): string =>
  line(
    content
      .map((part) => {
        if (part.type === 'text') return part.text;
        if (part.type === 'tool-call') return `[${part.tool}]`;
        return part.type === 'tool-result' ? valueLine(part.output) : '';
      })
      .filter(Boolean)
      .join(' '),
  );

type Shown = Pick<TraceNode, 'kind' | 'text' | 'tool'>;

const commitShown = ({ payload }: SessionEvent<'state.committed'>): Shown => {
  const { cause, why, outputSummary, origin, delta } = payload;
  const entries = origin?.kind === 'lift' ? origin.paths : entriesTouched(delta);
  const files = entries.filter((path) => path.startsWith('/filesModified/'));
  const known = entries.filter(hasProvenance);
  const kind = known.length === 0 && files.length > 0 ? 'file' : 'commit';
  const named = [...known, ...files];
  const reason = why ?? outputSummary;
  const text = `${(named.length > 0 ? named : entries).join(' ')}${reason ? `: ${reason}` : ''}`;
  return { kind, text: line(text), ...(cause && { tool: cause.tool }) };
};

const shownOf = (event: SessionEvent): Shown => {
  switch (event.type) {
    case 'state.committed':
      return commitShown(event);
    case 'message.appended': {
      const { message } = event.payload;
      const [first] = message.role === 'tool' ? message.content : [];
      return {
        kind: message.role === 'tool' ? 'result' : 'message',
        text: messageLine(message),
        ...(first && { tool: first.tool }),
      };
    }
    case 'tool.completed':
      return { kind: 'result', text: valueLine(event.payload.output), tool: event.payload.tool };
    case 'tool.failed': {
      const { outcome, error, tool } = event.payload;
      return { kind: 'result', text: line(`${outcome}: ${error.message}`), tool };
    }
    case 'approval.settled':
      return { kind: 'approval', text: line(`${event.payload.answer} ${event.payload.comment ?? ''}`) };
    case 'context.compacted':
      return { kind: 'compaction', text: line(event.payload.summary) };
    default:
      return { kind: 'event', text: event.type };
  }
};

/** A node of a trace for an event. */
export const eventNode = (event: SessionEvent): TraceNode => {
  const { session, seq, turn, at, actor } = event;
  const isBookkeeping = event.type === 'state.committed' && event.payload.provenance === undefined;
  const provenance = isBookkeeping ? undefined : provenanceOf(event);
  return {
    id: nodeId(session, seq),
    ...shownOf(event),
    session,
    seq,
    turn,
    at,
    actor,
    ...(provenance && { provenance }),
  };
};

/** A node for an event or a session that cannot be read. */
export const closedNode = (session: SessionId, seq: number | undefined, note: 'damaged' | 'hidden'): TraceNode => ({
  id: seq === undefined ? session : nodeId(session, seq),
  kind: seq === undefined ? 'session' : 'event',
  session,
  ...(seq !== undefined && { seq }),
  text: note === 'hidden' ? 'not visible to you' : 'cannot be read',
  note,
});
