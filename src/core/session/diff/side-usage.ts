import type { SessionEvent } from '../../../schema/event.ts';
import type { Usage } from '../../../schema/run.ts';

/** What a side used. `durationMs` is how long runs were at work, and how long the calls of other loops took. */
export interface SideUsage {
  readonly requests: number;
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly tokens: number;
  readonly costUsd: number;
  /** Model calls and subagents whose price is not known. */
  readonly unpriced: number;
  readonly durationMs: number;
}

const usageIn = (event: SessionEvent): Usage | undefined => {
  switch (event.type) {
    case 'model.completed':
    case 'model.failed':
    case 'message.abandoned':
    case 'child.ended':
      return event.payload.usage;
    default:
      return undefined;
  }
};

/** Sums up what the events of a side used. */
export class UsageSum {
  #requests = 0;
  #inputTokens = 0;
  #outputTokens = 0;
  #costUsd = 0;
  #unpriced = 0;
  #durationMs = 0;
  /** When the run under way began to work, and when its worker last showed that it lives. */
  #working: { readonly since: number; last: number } | undefined;

  add(event: SessionEvent): void {
    this.#charge(usageIn(event));
    if (event.type === 'model.called') this.#requests += 1;
    if (event.run) this.#clock(event);
    else if (event.type === 'tool.completed' || event.type === 'tool.failed') {
      this.#durationMs += event.payload.durationMs;
    }
  }

  get(): SideUsage {
    const { since, last } = this.#working ?? { since: 0, last: 0 };
    return {
      requests: this.#requests,
      inputTokens: this.#inputTokens,
      outputTokens: this.#outputTokens,
      tokens: this.#inputTokens + this.#outputTokens,
      costUsd: this.#costUsd,
      unpriced: this.#unpriced,
      durationMs: this.#durationMs + last - since,
    };
  }

  #charge(usage: Usage | undefined): void {
    if (!usage) return;
    this.#inputTokens += usage.inputTokens;
    this.#outputTokens += usage.outputTokens;
    this.#costUsd += usage.usd ?? 0;
    if (usage.usd === undefined && usage.inputTokens + usage.outputTokens > 0) this.#unpriced += 1;
  }

  /** Counts the time between the events of a worker. A worker that takes over begins anew. */
  #clock({ type, at, actor }: SessionEvent): void {
    const isStart = type === 'run.started' || type === 'run.resumed';
    if (isStart) this.#stop();
    if (actor.startsWith('agent:')) {
      this.#working ??= { since: at, last: at };
      this.#working.last = at;
    }
    if (type === 'run.waiting' || type === 'run.ended') this.#stop();
  }

  #stop(): void {
    if (this.#working) this.#durationMs += this.#working.last - this.#working.since;
    this.#working = undefined;
  }
}
