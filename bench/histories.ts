import type { Runtime } from '../src/index.ts';
import type { Engine, Place } from './engines/engine.ts';
import type { Library } from './library.ts';
import { type Content, oneTurn, realContent } from './workload.ts';

/** A database with one session of this many turns, and the size of its events as JSON. */
export interface History {
  readonly place: Place;
  readonly session: string;
  readonly turns: number;
  /** The size of the events as lines of JSON, with header and payload, as readers receive them. */
  readonly jsonBytes: number;
  readonly payloadBytes: number;
  /** The number of bytes on disk that the session added to the empty database, before any other case used it. */
  readonly diskBytes: number;
}

/**
 * Number of turns in one append. Writing long histories turn by turn would take minutes, and several turns in one
 * append leave the same rows.
 */
const turnsPerAppend = (turns: number): number => (turns > 1000 ? 4 : 1);

const bytesOf = (value: unknown): number => Buffer.byteLength(JSON.stringify(value));

const write = async (runtime: Runtime, turns: number, content: Content) => {
  const session = await runtime.sessions.open({ title: `${turns} turns` });
  let jsonBytes = 0;
  let payloadBytes = 0;
  for (let done = 0; done < turns; ) {
    const count = Math.min(turnsPerAppend(turns), turns - done);
    const events = await session.append(Array.from({ length: count }, () => oneTurn(content)).flat());
    done += count;
    for (const event of events) {
      jsonBytes += bytesOf(event) + 1;
      payloadBytes += bytesOf(event.payload);
    }
  }
  return { session: session.id, jsonBytes, payloadBytes };
};

export const writeHistory = async (
  library: Library,
  engine: Engine,
  turns: number,
  content: Content,
): Promise<History> => {
  const place = await engine.newPlace();
  const openRuntime = () => library.openRuntime({ store: place.address });
  await (await openRuntime()).close();
  const emptyBytes = await place.bytes();
  const runtime = await openRuntime();
  const written = await write(runtime, turns, content);
  await runtime.close();
  return { place, turns, ...written, diskBytes: (await place.bytes()) - emptyBytes };
};

/** Histories shared by several cases, each written once. */
export class Histories {
  readonly #write: (turns: number) => Promise<History>;
  readonly #written = new Map<number, Promise<History>>();

  constructor(library: Library, engine: Engine, progress: (what: string) => void) {
    this.#write = (turns) => {
      progress(`writing ${turns} turns`);
      return writeHistory(library, engine, turns, realContent());
    };
  }

  of(turns: number): Promise<History> {
    const history = this.#written.get(turns) ?? this.#write(turns);
    this.#written.set(turns, history);
    return history;
  }

  async remove(): Promise<void> {
    for (const history of this.#written.values()) await (await history).place.remove();
  }
}
