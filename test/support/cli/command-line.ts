import { expect } from 'vitest';
import { openRuntime, type RuntimeOptions, type Sessions } from '../../../src/index.ts';
import { newMemoryDatabase } from '../../../src/testing/memory-database.ts';
import { openMemoryStore } from '../../../src/testing/memory-store.ts';
import { callCliOn } from './call-cli.ts';
import { type CallOptions, worldOf } from './perdure-command.ts';

type Call = (
  args: readonly string[],
  options?: CallOptions,
) => Promise<{ readonly code: number; readonly out: string; readonly err: string }>;

/** Helpers for CLI calls that must succeed: they return the output. */
export const answersOf = (call: Call) => {
  const said = async (args: readonly string[], options?: CallOptions): Promise<string> => {
    const { code, out, err } = await call(args, options);
    expect({ code, err }, args.join(' ')).toEqual({ code: 0, err: '' });
    return out;
  };
  const answered = async (args: readonly string[], options?: CallOptions) =>
    JSON.parse(await said([...args, '--json'], options));
  const jsonLines = async (args: readonly string[]) =>
    (await said([...args, '--json'])).split('\n').flatMap((line) => (line === '' ? [] : [JSON.parse(line)]));
  return { said, answered, jsonLines };
};

/** Opens the library on the same store as a command line. */
export const libraryOn =
  (store: () => RuntimeOptions['store']) =>
  async <T>(work: (sessions: Sessions) => Promise<T>): Promise<T> => {
    const runtime = await openRuntime({ store: store() });
    try {
      return await work(runtime.sessions);
    } finally {
      await runtime.close();
    }
  };

/** Makes a session of three answered turns: events 1 to 7. */
export const makeSquares = async (sessions: Sessions, title = 'Squares'): Promise<string> => {
  const session = await sessions.open({ title });
  for (const n of [1, 2, 3]) {
    await session.append([
      { role: 'user', content: `What is ${n} times ${n}?` },
      { role: 'assistant', content: `It is ${n * n}.` },
    ]);
  }
  return session.id;
};

/**
 * The command line, writing to a pipe, and the library, both on one in-memory store. For tests that need no files.
 */
export const memoryCommandLine = () => {
  const database = newMemoryDatabase();
  const call: Call = async (args, options) => {
    const { raw, ...answer } = await callCliOn(database, args, worldOf(options));
    return { ...answer, out: raw };
  };
  return { call, ...answersOf(call), inLibrary: libraryOn(() => openMemoryStore(database)) };
};
