import type { Engine } from './engines/engine.ts';
import type { Figure } from './figure.ts';
import type { Histories } from './histories.ts';
import type { Library } from './library.ts';

export interface Bench {
  readonly library: Library;
  readonly engine: Engine;
  readonly histories: Histories;
  /** Fewer rounds and shorter histories. */
  readonly quick: boolean;
  /** The lengths of the histories in turns, ascending. */
  readonly turns: readonly number[];
  progress(what: string): void;
}

export type BenchCase = (bench: Bench) => Promise<readonly Figure[]>;
