import type { Contender, Reader, Setting, System } from '../contender.ts';
import { postgresDurability } from '../durability.ts';

type Library = Pick<typeof import('../../../src/index.ts'), 'openRuntime'>;

/**
 * The durability of our stores. The SQLite connections are in threads and cannot be queried, so this repeats the
 * values that src/stores/sqlite/file/connection.ts sets, and a test checks.
 */
const durability = { sqlite: 'WAL, synchronous=FULL', postgres: postgresDurability };

export const importPerdure = async (libraryUrl: string): Promise<System> => {
  const { openRuntime } = (await import(libraryUrl)) as Library;
  return {
    write: async ({ engine, mode, address }: Setting): Promise<Contender> => {
      const runtime = await openRuntime({ store: address });
      const session = await runtime.sessions.open();
      return {
        session: session.id,
        prepare: (turn) =>
          mode === 'turn'
            ? () => session.append(turn)
            : async () => {
                for (const message of turn) await session.append(message);
              },
        fork: () => session.fork(),
        durability: async () => durability[engine],
        close: () => runtime.close(),
      };
    },
    read: async ({ address }: Setting): Promise<Reader> => {
      const runtime = await openRuntime({ store: address });
      return {
        read: async ({ session: id, what }) => {
          const session = await runtime.sessions.get(id);
          return what === 'context' ? (await session.context()).messages.length : countMessages(session);
        },
        close: () => runtime.close(),
      };
    },
  };
};

const countMessages = async (session: { events(options: { after: number }): AsyncIterable<{ type: string }> }) => {
  let count = 0;
  for await (const { type } of session.events({ after: 0 })) if (type === 'message.appended') count++;
  return count;
};
