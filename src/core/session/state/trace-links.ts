import { posix } from 'node:path';
import type { SessionEvent } from '../../../schema/event.ts';
import type { Json } from '../../../schema/json.ts';
import type { Message } from '../../../schema/message.ts';

/** Why one event rests on another of the same session. */
export type LinkReason = 'derivedFrom' | 'cause' | 'said' | 'reads' | 'approved' | 'reverted' | 'compacted';

export interface Link {
  readonly to: number;
  readonly reason: LinkReason;
}

/** What an event rests on, as far as its log proves it. */
export interface Linked {
  readonly links: readonly Link[];
  /** The file that the call of this result read. */
  readonly file?: string | undefined;
  /** The events that this compaction replaced by a summary. */
  readonly covers?: readonly [from: number, to: number] | undefined;
  /** Set if this message only repeats a result that another event holds. */
  readonly isRepeat?: true;
}

interface TracedCall {
  readonly asked?: number;
  readonly approved?: number;
  readonly result?: number;
  readonly file?: string | undefined;
}

type Called = SessionEvent<'tool.called'>['payload'];

/** The file that a call without effects names. Only such a call provably reads it. */
const fileRead = ({ effects, ran, input }: Called): string | undefined => {
  const path = (input as { readonly path?: Json } | null)?.path;
  return effects === 'none' && ran !== false && typeof path === 'string' ? posix.normalize(path) : undefined;
};

/**
 * Follows the events of one turn in order, and finds for each the earlier events that it rests on. Forward and
 * backward walks use the same links, so that they are the converse of each other. A link leads only to an earlier
 * event, so that there can be no cycle.
 */
export class TraceLinks {
  #turn = -1;
  /** The events that the next answer of the model rests on: the answer before it, and what came since. */
  #inputs: readonly number[] = [];
  #calls = new Map<string, TracedCall>();
  #approvals = new Map<string, string>();

  add(event: SessionEvent): Linked {
    if (event.turn !== this.#turn) {
      this.#turn = event.turn;
      this.#inputs = [];
      this.#calls = new Map();
      this.#approvals = new Map();
    }
    const { links, ...rest } = this.#linked(event);
    const earlier = Map.groupBy(
      links.filter(({ to }) => to < event.seq),
      ({ to }) => to,
    );
    return { links: [...earlier.values()].map(([first]) => first!), ...rest };
  }

  #know(callId: string, about: TracedCall): void {
    this.#calls.set(callId, { ...this.#calls.get(callId), ...about });
  }

  #linked(event: SessionEvent): Linked {
    const { seq } = event;
    switch (event.type) {
      case 'message.appended':
        return this.#message(seq, event.payload.message);
      case 'tool.called':
        this.#know(event.payload.callId, { file: fileRead(event.payload) });
        return { links: [] };
      case 'approval.requested':
        this.#approvals.set(event.payload.approval, event.payload.callId);
        return { links: [] };
      case 'approval.settled': {
        const callId = this.#approvals.get(event.payload.approval);
        if (callId !== undefined && event.payload.answer === 'approved') this.#know(callId, { approved: seq });
        return { links: [] };
      }
      case 'tool.completed':
      case 'tool.failed': {
        const { callId } = event.payload;
        const { asked, approved, file } = this.#calls.get(callId) ?? {};
        this.#know(callId, { result: seq });
        return {
          links: [...linkTo('said', asked), ...linkTo('approved', approved)],
          ...(event.type === 'tool.completed' && { file }),
        };
      }
      case 'state.committed':
        return { links: this.#commit(event) };
      case 'context.compacted':
        return { links: [], covers: [event.payload.from, event.payload.to] };
      default:
        return { links: [] };
    }
  }

  #message(seq: number, { role, content }: Message): Linked {
    if (role === 'assistant') {
      const links = this.#inputs.flatMap((to) => linkTo('reads', to));
      this.#inputs = [seq];
      for (const part of content) if (part.type === 'tool-call') this.#know(part.callId, { asked: seq });
      return { links };
    }
    if (role !== 'tool') {
      this.#inputs = [...this.#inputs, seq];
      return { links: [] };
    }
    const calls = content.map(({ callId }) => [callId, this.#calls.get(callId) ?? {}] as const);
    const isRepeat = calls.length > 0 && calls.every(([, { result }]) => result !== undefined);
    for (const [callId, { result }] of calls) if (result === undefined) this.#know(callId, { result: seq });
    this.#inputs = [...this.#inputs, ...(isRepeat ? calls.map(([, { result }]) => result!) : [seq])];
    const links = calls.flatMap(([, { asked, result }]) =>
      result === undefined ? linkTo('said', asked) : linkTo('cause', result),
    );
    return { links, ...(isRepeat && { isRepeat }) };
  }

  #commit({ actor, payload: { derivedFrom, cause, origin } }: SessionEvent<'state.committed'>): readonly Link[] {
    const links = [
      ...(derivedFrom ?? []).flatMap((to) => linkTo('derivedFrom', to)),
      ...(cause ? linkTo('cause', this.#calls.get(cause.callId)?.result) : []),
      ...(origin?.kind === 'revert' ? linkTo('reverted', origin.seq) : []),
    ];
    // The provenance of such a commit is that of the turn's inputs, see PROV1.
    const isConcluded = actor.startsWith('agent:') && !derivedFrom && !cause && !origin;
    return isConcluded ? this.#inputs.flatMap((to) => linkTo('reads', to)) : links;
  }
}

const linkTo = (reason: LinkReason, to: number | undefined): readonly Link[] =>
  to === undefined ? [] : [{ to, reason }];
