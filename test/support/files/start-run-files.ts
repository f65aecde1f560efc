import { lstatSync, mkdirSync, readdirSync, readFileSync, readlinkSync, writeFileSync } from 'node:fs';
import { mkdtemp, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { expect, onTestFinished } from 'vitest';
import { z } from 'zod';
import type { ToolContext } from '../../../src/core/ports/tool.ts';
import {
  defineAgent,
  defineScript,
  defineTool,
  type OpenOptions,
  openRuntime,
  type Runtime,
  type Session,
  type SessionEvent,
} from '../../../src/index.ts';
import type { EventType } from '../../../src/schema/event.ts';
import { defineShellTool, type ShellOptions } from '../../../src/tools/index.ts';
import { newStorePlace, type StoreKind } from '../stores/stores.ts';

export const newFolder = async (): Promise<string> => {
  const folder = await realpath(await mkdtemp(join(tmpdir(), 'perdure-run-files-')));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  return folder;
};

export const whoseFolders = ['its own', "a person's"] as const;
/** Options that make a session work in a folder of its own or in a folder of a person. */
export const filesOf = async (whose: (typeof whoseFolders)[number]): Promise<OpenOptions['files']> =>
  whose === 'its own' ? undefined : { cwd: await newFolder() };

export const providerKey = 'sk-test-0123456789';
export type Act = (context: ToolContext) => unknown;

const namesIn = (folder: string): readonly string[] => readdirSync(folder).filter((name) => name !== '.perdure');

/** The files and links in a folder by path, with contents and modes. */
export const contentOf = (folder: string, path = ''): Record<string, string> =>
  Object.assign(
    {},
    ...namesIn(join(folder, path)).map((name): Record<string, string> => {
      const at = path === '' ? name : `${path}/${name}`;
      const stats = lstatSync(join(folder, at));
      if (stats.isSymbolicLink()) return { [at]: `-> ${readlinkSync(join(folder, at))}` };
      if (stats.isDirectory()) return contentOf(folder, at);
      return { [at]: `${(stats.mode & 0o777).toString(8)} ${readFileSync(join(folder, at), 'utf8')}` };
    }),
  );

export const write =
  (files: Readonly<Record<string, string>>): Act =>
  ({ folder }) => {
    for (const [path, text] of Object.entries(files)) {
      mkdirSync(dirname(join(folder, path)), { recursive: true });
      writeFileSync(join(folder, path), text);
    }
  };

export const eventsOf = async <T extends EventType>(session: Session, type: T): Promise<readonly SessionEvent<T>[]> =>
  (await Array.fromAsync(session.events())).filter(({ type: each }) => each === type) as never;

/** A place for a store, removed after the test. */
export const newPlace = async (kind: StoreKind) => {
  const place = await newStorePlace(kind);
  onTestFinished(place.remove);
  return place;
};

const steps = [
  { when: { answers: 0, userMatches: 'look' }, calls: [{ tool: 'look', input: {} }] },
  { when: { answers: 0, userMatches: 'stare' }, calls: Array(20).fill({ tool: 'look', input: {} }) },
  { when: { answers: 0, userMatches: 'thrice' }, calls: Array(3).fill({ tool: 'act', input: {} }) },
  { when: { answers: 0, userMatches: 'repeat' }, calls: [{ tool: 'repeat', input: {} }] },
  { when: { answers: 0 }, calls: [{ tool: 'act', input: {} }] },
  { text: 'Done.' },
];

interface RunFilesOptions {
  readonly prepare?: string;
  readonly files?: OpenOptions['files'] | undefined;
  readonly shell?: ShellOptions;
}

/** Opens a session whose agent's tools do what the test sets next. Any number of machines can open the same store. */
export const startRunFiles = async (
  kind: StoreKind,
  { prepare, files, shell = { sandbox: 'off', approval: false } }: RunFilesOptions = {},
) => {
  const place = await newPlace(kind);
  let act: Act = () => undefined;
  let seen: ToolContext | undefined;
  const execute = async (_: unknown, context: ToolContext) => {
    seen = context;
    return (await act(context)) ?? 'done';
  };
  const input = z.object({});
  const agent = defineAgent({
    name: 'tester',
    version: 1,
    model: defineScript({ name: 'test', everyTurn: true, steps }),
    tools: [
      defineTool({ name: 'act', input, confined: true, execute }),
      defineTool({ name: 'repeat', input, effects: 'idempotent', confined: true, execute }),
      defineTool({
        name: 'look',
        input,
        effects: 'none',
        execute: (_, context) => {
          seen = context;
          return contentOf(context.folder);
        },
      }),
      defineShellTool(shell),
    ],
    ...(prepare && { prepare }),
  });
  const machine = async (data?: string): Promise<Runtime> => {
    const runtime = await openRuntime({
      store: place.address,
      agents: [agent],
      worker: false,
      models: {
        providers: { hosted: { baseUrl: 'http://127.0.0.1:9', apiKey: providerKey } },
      },
      data: data ?? (await newFolder()),
    });
    onTestFinished(() => runtime.close());
    return runtime;
  };
  const set = (next: Act): void => {
    act = next;
  };
  /** From now on, each call runs `next` and then hangs until it is aborted. */
  const setHanging = (next: Act): Promise<void> => {
    const { promise: reached, resolve: reach } = Promise.withResolvers<void>();
    act = (context) => {
      next(context);
      reach();
      return new Promise((_, reject) => {
        context.signal.addEventListener('abort', () => reject(context.signal.reason));
      });
    };
    return reached;
  };

  /** The session as one machine sees it. */
  const sessionAt = async (runtime: Runtime, id: Session['id']) => {
    const session = await runtime.sessions.get(id);
    const work = (): Promise<void> => runtime.worker({ session: id, pollMs: 50 }).runUntilIdle();
    const resultOf = async (text: string) => {
      const run = await session.send(text);
      await work();
      return run.result();
    };
    return {
      runtime,
      session,
      work,
      resultOf,
      turn: async (next: Act): Promise<void> => {
        act = next;
        const failed = (await eventsOf(session, 'tool.failed')).length;
        expect(await resultOf('act')).toMatchObject({ status: 'succeeded' });
        expect((await eventsOf(session, 'tool.failed')).slice(failed)).toEqual([]);
      },
      /** Returns what the read-only tool `look` finds in the folder. */
      found: async (): Promise<unknown> => {
        expect(await resultOf('look')).toMatchObject({ status: 'succeeded' });
        return (await eventsOf(session, 'tool.completed')).at(-1)!.payload.output;
      },
      /** Cancels the run in the middle of a call, after the call has run `next`. */
      cancelAfter: async (next: Act): Promise<void> => {
        const reached = setHanging(next);
        const run = await session.send('act');
        const worker = runtime.worker({ pollMs: 50 });
        await worker.start();
        await reached;
        await run.cancel();
        await worker.stop();
      },
    };
  };

  const data = await newFolder();
  const runtime = await machine(data);
  const { id } = await runtime.sessions.open({ agent, ...(files && { files }) });
  const here = await sessionAt(runtime, id);
  return {
    ...here,
    agent,
    data,
    machine,
    set,
    seen: () => seen!,
    sessionAt,
    elsewhere: async () => sessionAt(await machine(), id),
    /**
     * Loses the worker in the middle of a call, after the call has run `next`. Returns the session on the restarted
     * machine.
     */
    loseAfter: async (next: Act, text = 'act') => {
      const reached = setHanging(next);
      await here.session.send(text);
      await runtime.worker().start();
      await reached;
      await runtime.close();
      return sessionAt(await machine(data), id);
    },
  };
};
