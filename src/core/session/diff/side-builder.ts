import type { PayloadOf, SessionEvent } from '../../../schema/event.ts';
import type { Json } from '../../../schema/json.ts';
import type { Message, ToolCallPart, ToolResultPart } from '../../../schema/message.ts';
import { maxSaidChars, type Said, saidWords } from '../../../schema/said.ts';
import { shorten } from '../context/clip.ts';
import { commitRecord } from '../state/commit-record.ts';
import { digestOf, digestOfMessage, textIn, valueText } from './message-text.ts';
import type { Digested, Side, SideCall, SideCommit, SideMessage, SideModel, SideOutcome } from './side.ts';
import { UsageSum } from './side-usage.ts';

/** How much of each text a diff keeps. The digests cover all of it. */
const maxMessageChars = 4000;
const maxAnswerChars = 20_000;
const maxValueChars = 1000;
/** Settings beyond these many different ones count as requests of the last. */
const maxModels = 50;

/** A call while its events are read. */
interface OpenCall {
  call: SideCall;
  inputDigest: string | undefined;
  /** Whether `tool.called` was read, so that another one with the same id begins another call. */
  isCalled: boolean;
  outputDigest?: string;
  /** What the model was told of the result. */
  toldDigest?: string;
}

/** What a message says when it asks for a call of this id. Undefined if it asks for none. */
export const saidFor = (callId: string, { seq, payload: { message } }: SessionEvent<'message.appended'>) =>
  message.role === 'assistant' && message.content.some((part) => part.type === 'tool-call' && part.callId === callId)
    ? saidWords(message, seq)
    : undefined;

const digestedCall = ({ call, inputDigest, outputDigest, toldDigest }: OpenCall): Digested<SideCall> => ({
  item: call,
  // A call that began before both sides part is the same call on both.
  key: inputDigest === undefined ? `id ${call.callId}` : `input ${call.tool} ${inputDigest}`,
  kind: call.tool,
  end: `${call.outcome} ${outputDigest ?? ''} ${toldDigest ?? ''}`,
});

const outcomeAfter = (event: SessionEvent): SideOutcome | undefined => {
  if (event.type === 'run.started' || event.type === 'run.resumed') return { status: 'running' };
  if (event.type === 'run.waiting') return { status: 'waiting', reason: event.payload.for };
  if (event.type !== 'run.ended') return undefined;
  const { payload } = event;
  return payload.status === 'failed' ? { status: 'failed', reason: payload.error.code } : { status: payload.status };
};

/** Collects what happened on one side from its events, oldest first. */
export class SideBuilder {
  readonly #messages: Digested<SideMessage>[] = [];
  readonly #calls: OpenCall[] = [];
  /** The newest call of each id. */
  readonly #byId = new Map<string, OpenCall>();
  readonly #commits: { readonly commit: SideCommit; readonly digest: string }[] = [];
  readonly #models = new Map<string, SideModel>();
  readonly #usage = new UsageSum();
  #answer: Side['answer'];
  #outcome: SideOutcome | undefined;

  add(event: SessionEvent): void {
    this.#usage.add(event);
    switch (event.type) {
      case 'message.appended':
        this.#addMessage(event);
        break;
      case 'message.abandoned':
        this.#addBroken(event);
        break;
      case 'tool.called':
        this.#begin(event);
        break;
      case 'tool.completed':
      case 'tool.failed':
        this.#end(event);
        break;
      case 'call.reported':
        this.#report(event);
        break;
      case 'state.committed':
        this.#addCommit(event);
        break;
      case 'model.called':
        this.#addModel(event.payload);
        break;
      default:
        this.#outcome = outcomeAfter(event) ?? this.#outcome;
    }
  }

  /** The ids of the calls whose asking message was not among the events. */
  unsaid(): readonly string[] {
    return this.#calls.filter(({ call }) => !call.said).map(({ call }) => call.callId);
  }

  say(callId: string, said: Said): void {
    for (const open of this.#calls) {
      if (open.call.callId === callId && !open.call.said) open.call = { ...open.call, said };
    }
  }

  build(unread: number): Side {
    return {
      messages: this.#messages,
      calls: this.#calls.map(digestedCall),
      commits: this.#commits.map(({ commit, digest }) => {
        const said = commit.cause && this.#byId.get(commit.cause.callId)?.call.said;
        const kind = `${commit.cause?.tool ?? commit.actor} ${commit.entries.join(' ')}`;
        return { item: { ...commit, ...(said && { said }) }, key: digest, kind, end: digest };
      }),
      ...(this.#answer && { answer: this.#answer }),
      models: [...this.#models.values()],
      usage: this.#usage.get(),
      ...(this.#outcome && { outcome: this.#outcome }),
      unread,
    };
  }

  #addMessage(event: SessionEvent<'message.appended'>): void {
    const { message, model } = event.payload;
    if (message.role === 'tool') {
      for (const part of message.content) this.#tell(event, part);
      return;
    }
    this.#push(event, message, { ...(model !== undefined && { model }) });
    if (message.role !== 'assistant') return;
    const calls = message.content.filter((part) => part.type === 'tool-call');
    const said = calls.length > 0 ? saidWords(message, event.seq) : undefined;
    for (const part of calls) this.#ask(event, part, said!);
  }

  /** Adds what was shown of an answer that broke off. */
  #addBroken(event: SessionEvent<'message.abandoned'>): void {
    const { message: id, content, why } = event.payload;
    if (!content) return;
    this.#push(event, { id, role: 'assistant', content }, { brokenOff: why ?? 'stopped' });
  }

  #push(
    { session, seq, turn }: SessionEvent,
    { id, role, content }: Exclude<Message, { role: 'tool' }>,
    about: Pick<SideMessage, 'model' | 'brokenOff'>,
  ): void {
    const [text, reasoning] = [textIn(content, 'text'), textIn(content, 'reasoning')];
    const calls = content.flatMap((part) => (part.type === 'tool-call' ? [part.tool] : []));
    const item: SideMessage = {
      session,
      seq,
      turn,
      id,
      role,
      text: shorten(text ?? '', maxMessageChars),
      ...(reasoning !== undefined && { reasoning: shorten(reasoning, maxSaidChars) }),
      ...(calls.length > 0 && { calls }),
      ...about,
    };
    const key = `${about.brokenOff ?? ''} ${digestOfMessage(role, content)}`;
    this.#messages.push({ item, key, kind: role, end: `${key} ${about.model ?? ''}` });
    if (role === 'assistant' && text?.trim()) this.#answer = { message: id, seq, text: shorten(text, maxAnswerChars) };
  }

  #ask({ session, seq, turn }: SessionEvent, { callId, tool, input }: ToolCallPart, said: Said): void {
    const known = this.#byId.get(callId);
    if (known && known.call.tool === tool && !known.call.said && known.call.turn === turn) {
      known.call = { ...known.call, said };
      return;
    }
    this.#open({ session, seq, turn, callId, tool, outcome: 'running', said }, input);
  }

  #begin({ session, seq, turn, payload }: SessionEvent<'tool.called'>): void {
    const { callId, tool, input } = payload;
    const known = this.#byId.get(callId);
    if (known && known.call.tool === tool && !known.isCalled && known.call.outcome === 'running') {
      known.isCalled = true;
      return;
    }
    this.#open({ session, seq, turn, callId, tool, outcome: 'running' }, input).isCalled = true;
  }

  #end(event: SessionEvent<'tool.completed' | 'tool.failed'>): void {
    const open = this.#known(event);
    const { durationMs } = event.payload;
    const isOk = event.type === 'tool.completed';
    open.outputDigest = isOk ? event.payload.outputHash : digestOf(event.payload.error);
    open.call = {
      ...open.call,
      outcome: isOk ? 'ok' : event.payload.outcome,
      ...(isOk
        ? { output: valueText(event.payload.output, maxValueChars) }
        : { error: shorten(event.payload.error.message, maxValueChars) }),
      durationMs,
      endedSeq: event.seq,
    };
  }

  #report(event: SessionEvent<'call.reported'>): void {
    const open = this.#known(event);
    open.call = { ...open.call, outcome: event.payload.outcome };
  }

  /** Adds the result that a message tells the model. A call of another loop may have no other result. */
  #tell(event: SessionEvent<'message.appended'>, { callId, tool, outcome, output }: ToolResultPart): void {
    const open = this.#known({ ...event, payload: { callId, tool } });
    open.toldDigest = digestOf([outcome, output]);
    if (open.call.endedSeq !== undefined) return;
    const text = valueText(output, maxValueChars);
    open.call = {
      ...open.call,
      outcome,
      ...(outcome === 'ok' ? { output: text } : { error: text }),
      endedSeq: event.seq,
    };
  }

  /** The newest call of this id. A call that began before the first event is added without an input. */
  #known(event: {
    readonly session: SideCall['session'];
    readonly seq: number;
    readonly turn: number;
    readonly payload: { readonly callId: string; readonly tool: string };
  }): OpenCall {
    const { session, seq, turn, payload } = event;
    const { callId, tool } = payload;
    return this.#byId.get(callId) ?? this.#open({ session, seq, turn, callId, tool, outcome: 'running' }, undefined);
  }

  #open(call: SideCall, input: Json | undefined): OpenCall {
    const open: OpenCall = {
      call: input === undefined ? call : { ...call, input: valueText(input, maxValueChars) },
      inputDigest: input === undefined ? undefined : digestOf(input),
      isCalled: false,
    };
    this.#calls.push(open);
    this.#byId.set(call.callId, open);
    return open;
  }

  #addCommit(event: SessionEvent<'state.committed'>): void {
    const { session, seq, turn, at, actor, cause, why, entries, delta, origin, provenance, entryProvenance } =
      commitRecord(event);
    const commit = {
      session,
      seq,
      turn,
      at,
      actor,
      ...(cause && { cause }),
      ...(why !== undefined && { why }),
      entries,
    };
    // The ids of two equal calls differ, and so do their entries.
    const change = JSON.stringify([delta, provenance, entryProvenance]);
    const plain = cause ? change.replaceAll(JSON.stringify(cause.callId), '""') : change;
    this.#commits.push({ commit, digest: digestOf([plain, cause?.tool ?? actor, why ?? '', origin?.kind ?? '']) });
  }

  #addModel({ model, settings }: PayloadOf<'model.called'>): void {
    const key = digestOf([model, settings]);
    const known = this.#models.get(key);
    if (!known && this.#models.size >= maxModels) return;
    this.#models.set(key, { model, settings, requests: (known?.requests ?? 0) + 1 });
  }
}
