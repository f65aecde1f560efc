import type { MessageInput } from '../../src/index.ts';
import type { EngineName } from '../engines/engine.ts';

export const systemNames = ['bare', 'perdure', 'mastra', 'langgraph', 'langgraph-delta'] as const;
export type SystemName = (typeof systemNames)[number];

/** `turn`: kept once, when the turn is over. `step`: everything is durable before the next step begins. */
export type Mode = 'turn' | 'step';

export type Turn = readonly MessageInput[];

/** Where a system keeps one session, and how. */
export interface Setting {
  readonly engine: EngineName;
  readonly mode: Mode;
  /** `sqlite:FILE` or the URL of a PostgreSQL database. */
  readonly address: string;
  /** Of the built library. */
  readonly libraryUrl: string;
}

/** A session that is being written. */
export interface Contender {
  /** By which it is found again. */
  readonly session: string;
  /** Makes what the turn needs in the system's own form, and gives the work that is timed. */
  prepare(turn: Turn): () => Promise<unknown>;
  /** At its end. */
  fork(): Promise<unknown>;
  /** As its own connection tells it, where it can be asked. */
  durability(): Promise<string>;
  close(): Promise<void>;
}

/** What is asked of a session that is opened anew: what a model is given next, by a number of turns, or all of it. */
export interface Wanted {
  readonly session: string;
  readonly what: 'context' | 'all';
  readonly contextTurns: number;
}

/** A store that was opened by somebody who knows nothing of it. */
export interface Reader {
  /** Gives the number of messages found. */
  read(wanted: Wanted): Promise<number>;
  close(): Promise<void>;
}

/** Its modules are there; everything from here on is work. */
export interface System {
  write(setting: Setting): Promise<Contender>;
  read(setting: Setting): Promise<Reader>;
}

export interface Call {
  readonly callId: string;
  readonly tool: string;
  readonly input: unknown;
  readonly output: unknown;
}

/** A turn without our form: what was asked, what was called, what was answered. */
export interface Script {
  readonly question: string;
  readonly calls: readonly Call[];
  readonly answer: string;
}

const textOf = ({ content }: MessageInput): string => {
  if (typeof content !== 'string') throw new Error('a turn begins and ends with text');
  return content;
};

export const scriptOf = (turn: Turn): Script => {
  const parts = turn.flatMap(({ content }) => (typeof content === 'string' ? [] : [...content]));
  const results = parts.filter((part) => part.type === 'tool-result');
  const calls = parts.filter((part) => part.type === 'tool-call');
  return {
    question: textOf(turn[0]!),
    calls: calls.map((call, at) => ({ ...call, output: results[at]!.output })),
    answer: textOf(turn.at(-1)!),
  };
};

export const fileOf = (address: string): string => address.slice('sqlite:'.length);
