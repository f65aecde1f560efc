import { randomUUID } from 'node:crypto';
import type { EngineName } from '../../engines/engine.ts';
import { type Contender, fileOf, type Reader, type Script, type Setting, type System, scriptOf } from '../contender.ts';
import { postgresDurability, sqliteDurability } from '../durability.ts';
import { importPackage } from '../import-package.ts';

interface DbMessage {
  readonly id: string;
  readonly role: 'user' | 'assistant';
  readonly createdAt: Date;
  readonly threadId: string;
  readonly resourceId: string;
  readonly content: { readonly format: 2; readonly parts: readonly object[] };
}

interface Memory {
  createThread(of: { threadId: string; resourceId: string; title: string }): Promise<unknown>;
  saveMessages(of: { messages: DbMessage[] }): Promise<unknown>;
  recall(of: { threadId: string; resourceId: string; perPage: number | false }): Promise<{ messages: unknown[] }>;
  copyThread(of: { sourceThreadId: string }): Promise<unknown>;
}

interface Store {
  init(): Promise<void>;
  close(): Promise<void>;
}

interface Writable {
  readonly store: Store;
  durability(): Promise<string>;
}

/** A common interface for Mastra's two stores. */
interface Stores {
  /** Opens a store as Mastra's users do. */
  forReading(address: string): Store;
  /** Opens a store that is as durable as ours. */
  forWriting(address: string): Promise<Writable>;
}

interface LibsqlClient {
  execute(sql: string): Promise<{ rows: Record<string, unknown>[] }>;
}

const id = 'bench';
const resourceId = 'somebody';

/** The settings that Mastra uses for a file, except `synchronous`, which it sets to NORMAL. */
const pragmas = [
  'journal_mode=WAL',
  'temp_store=MEMORY',
  'cache_size=-16000',
  'mmap_size=134217728',
  'synchronous=FULL',
];

const libsqlStores = async (): Promise<Stores> => {
  const { LibSQLStore } = await importPackage<{ LibSQLStore: new (options: object) => Store }>('@mastra/libsql');
  const urlOf = (address: string) => `file:${fileOf(address)}`;
  return {
    forReading: (address) => new LibSQLStore({ id, url: urlOf(address) }),
    forWriting: async (address) => {
      const { createClient } = await importPackage<{ createClient(options: object): LibsqlClient }>('@libsql/client');
      const client = createClient({ url: urlOf(address), timeout: 5000 });
      const store = new LibSQLStore({ id, client });
      await store.init();
      // The pool gives sequential statements the same connection each time.
      for (const pragma of pragmas) await client.execute(`PRAGMA ${pragma}`);
      const ask = async (name: string) => Object.values((await client.execute(`PRAGMA ${name}`)).rows[0]!)[0];
      return {
        store,
        durability: () => sqliteDurability(ask),
      };
    },
  };
};

const pgStores = async (): Promise<Stores> => {
  const { PostgresStore } = await importPackage<{ PostgresStore: new (options: object) => Store }>('@mastra/pg');
  const open = (address: string) => new PostgresStore({ id, connectionString: address });
  return {
    forReading: open,
    forWriting: async (address) => {
      const store = open(address);
      await store.init();
      return { store, durability: async () => postgresDurability };
    },
  };
};

const stores: Record<EngineName, () => Promise<Stores>> = { sqlite: libsqlStores, postgres: pgStores };

/** Each step of Mastra's loop ends with the result of a call or with the answer. */
const stepsOf = ({ calls, answer }: Script): readonly object[][] => {
  const steps = calls.map(({ callId: toolCallId, tool: toolName, input: args, output: result }) => ({
    type: 'tool-invocation',
    toolInvocation: { state: 'result', toolCallId, toolName, args, result },
  }));
  return [...steps, { type: 'text', text: answer }].map((part) => [{ type: 'step-start' }, part]);
};

let lastMs = 0;
/** Returns a new time for each message, because Mastra orders messages by time only. */
const nextTime = (): Date => {
  lastMs = Math.max(Date.now(), lastMs + 1);
  return new Date(lastMs);
};

export const importMastra = async (engine: EngineName): Promise<System> => {
  const { Memory } = await importPackage<{ Memory: new (options: { storage: Store }) => Memory }>('@mastra/memory');
  const { forReading, forWriting } = await stores[engine]();
  return {
    write: async ({ mode, address }: Setting): Promise<Contender> => {
      const { store, durability } = await forWriting(address);
      const memory = new Memory({ storage: store });
      const threadId = randomUUID();
      await memory.createThread({ threadId, resourceId, title: 'Bench' });
      const messageOf = (role: DbMessage['role'], parts: readonly object[]): DbMessage => ({
        id: randomUUID(),
        role,
        createdAt: nextTime(),
        threadId,
        resourceId,
        content: { format: 2, parts },
      });
      return {
        session: threadId,
        prepare: (turn) => {
          // Mastra's agents store a turn as two messages: the question, and everything that answers it.
          const script = scriptOf(turn);
          const steps = stepsOf(script);
          const asked = messageOf('user', [{ type: 'text', text: script.question }]);
          const answer = messageOf('assistant', steps.flat());
          if (mode === 'turn') return () => memory.saveMessages({ messages: [asked, answer] });
          // After each step the message is stored again, with the new parts.
          const growing = steps.map((_, at) => ({
            ...answer,
            content: { ...answer.content, parts: steps.slice(0, at + 1).flat() },
          }));
          return async () => {
            for (const message of [asked, ...growing]) await memory.saveMessages({ messages: [message] });
          };
        },
        fork: () => memory.copyThread({ sourceThreadId: threadId }),
        durability,
        close: () => store.close(),
      };
    },
    read: async ({ address }: Setting): Promise<Reader> => {
      const store = forReading(address);
      await store.init(); // otherwise the first query does it
      const memory = new Memory({ storage: store });
      return {
        read: async ({ session, what, contextTurns }) => {
          const perPage = what === 'all' ? false : 2 * contextTurns;
          return (await memory.recall({ threadId: session, resourceId, perPage })).messages.length;
        },
        close: () => store.close(),
      };
    },
  };
};
