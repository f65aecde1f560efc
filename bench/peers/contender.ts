import type { MessageInput } from '../../src/index.ts';
import type { EngineName } from '../engines/engine.ts';

export const systemNames = ['bare', 'perdure', 'mastra', 'langgraph', 'langgraph-delta'] as const;
export type SystemName = (typeof systemNames)[number];

/**
 * `turn`: the session is stored once, at the end of the turn. `step`: everything is durable before the next step
 * begins.
 */
export type Mode = 'turn' | 'step';

export type Turn = readonly MessageInput[];

/** Where and how a system stores one session. */
export interface Setting {
  readonly engine: EngineName;
  readonly mode: Mode;
  /** `sqlite:FILE` or the URL of a PostgreSQL database. */
  readonly address: string;
  /** The URL of the built library. */
  readonly libraryUrl: string;
}

/** A session that is being written. */
export interface Contender {
  /** The id by which the session is found again. */
  readonly session: string;
  /** Converts the turn to the system's own form, and returns the work to time. */
  prepare(turn: Turn): () => Promise<unknown>;
  /** Forks the session at its end. */
  fork(): Promise<unknown>;
  /** The durability settings that its connection reports, if they can be queried. */
  durability(): Promise<string>;
  close(): Promise<void>;
}

/**
 * The part to read from a newly opened session: the next context of a model, given as a number of turns, or
 * everything.
 */
export interface Wanted {
  readonly session: string;
  readonly what: 'context' | 'all';
  readonly contextTurns: number;
}

/** A store opened without any cached data. */
export interface Reader {
  /** Reads the part and returns the number of messages found. */
  read(wanted: Wanted): Promise<number>;
  close(): Promise<void>;
}

/** A system whose modules are already loaded. */
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

/** A turn in a form that does not depend on any system: the question, the calls, the answer. */
export interface Script {
  readonly question: string;
  readonly calls: readonly Call[];
  readonly answer: string;
}

const textOf = ({ content }: MessageInput): string => {
  if (typeof content !== 'string') throw new Error('a turn must begin and end with text');
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
