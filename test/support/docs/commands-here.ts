import { once } from 'node:events';
import { createServer, type Socket } from 'node:net';
import { dirname, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { PassThrough } from 'node:stream';
import type { Env, World } from '../../../src/cli/parse/world.ts';
import { personAt } from '../../../src/cli/runs/person.ts';
import type { Terminal } from '../../../src/cli/terminal/terminal.ts';
import type { RuntimeStore } from '../../../src/core/ports/runtime-store.ts';
import { openRuntime } from '../../../src/index.ts';
import { openSqliteStore } from '../../../src/stores/sqlite/index.ts';
import { callCli } from '../cli/call-cli.ts';
import { overrideStore } from '../stores/override-store.ts';

interface Request {
  readonly argv: readonly string[];
  readonly folder: string;
  readonly env: Env;
}

const ours = ([name]: [string, unknown]) => /^PERDURE_|_API_KEY$/.test(name);

/** Switches this process to the folder and environment that a separate process would have. */
const enter = ({ folder, env }: Request): void => {
  process.chdir(folder);
  for (const [name] of Object.entries(process.env).filter(ours)) delete process.env[name];
  Object.assign(process.env, Object.fromEntries(Object.entries(env).filter(ours)));
};

/** Keeps stores open between commands, because starting a store's threads dominates the time of a short command. */
class OpenFiles {
  readonly #stores = new Map<string, Promise<RuntimeStore>>();

  readonly openRuntime: World['openRuntime'] = async (options) => {
    const [, name] = /^sqlite:(.+)$/.exec(String(options.store)) ?? [];
    if (name === undefined) return openRuntime(options);
    const file = resolve(name);
    const opening = this.#stores.get(file) ?? openSqliteStore({ file });
    this.#stores.set(file, opening);
    return openRuntime({
      worker: false,
      data: dirname(file),
      ...options,
      store: overrideStore(await opening, { close: async () => {} }),
    });
  };

  async close(): Promise<void> {
    for (const store of this.#stores.values()) await (await store).close();
  }
}

interface CommandsHere {
  /** Runs a command without a shell. */
  readonly run: (request: Request, world?: Partial<World>) => ReturnType<typeof callCli>;
  readonly stop: () => Promise<void>;
}

/** Answers requests of `perdure-stub.ts`: runs its commands in this process, for one shell at a time. */
export const startCommandsHere = async (path: string): Promise<CommandsHere> => {
  const files = new OpenFiles();
  const underWay = new Set<Promise<unknown>>();
  const track = (work: Promise<unknown>): void => {
    underWay.add(work);
    void work.finally(() => underWay.delete(work));
  };

  const run: CommandsHere['run'] = (request, world = {}) => {
    const { argv, folder, env } = request;
    enter(request);
    return callCli(argv, {
      env,
      folder,
      openRuntime: files.openRuntime,
      startDetached: (args, { folder: there, env: theirs }) => track(run({ argv: args, folder: there, env: theirs })),
      ...world,
    });
  };

  const answer = async (socket: Socket): Promise<void> => {
    const stdin = new PassThrough();
    const leave = new AbortController();
    const tell = (line: unknown): void => void (socket.writable && socket.write(`${JSON.stringify(line)}\n`));
    const pipeTo = (stream: 'stdout' | 'stderr'): Terminal => ({
      isTerminal: false,
      columns: Number.POSITIVE_INFINITY,
      write: async (output) => tell({ stream, data: Buffer.from(output).toString('base64') }),
      style: (_, text) => text,
    });
    socket.on('error', () => {}).on('close', () => leave.abort());
    const asked = Promise.withResolvers<Request>();
    createInterface({ input: socket }).on('line', (line) => {
      const { stdin: bytes, ...request } = JSON.parse(line);
      if (bytes === undefined) asked.resolve(request);
      else if (bytes === null) stdin.end();
      else stdin.write(Buffer.from(bytes, 'base64'));
    });
    const request = await asked.promise;
    const pressCtrlC = (): void => {
      if (request.env.PERDURE_TEST_CTRL_C) setTimeout(() => leave.abort());
    };
    const { code } = await run(request, {
      stdin: () => stdin,
      person: (anyInput) => (anyInput ? personAt(stdin, new PassThrough() as never) : undefined),
      out: pipeTo('stdout'),
      err: pipeTo('stderr'),
      interrupted: () => {
        pressCtrlC();
        return leave.signal;
      },
      onInterrupt: (listener) => {
        const interrupt = () => listener('interrupt');
        leave.signal.addEventListener('abort', interrupt);
        pressCtrlC();
        return () => leave.signal.removeEventListener('abort', interrupt);
      },
    });
    tell({ code });
  };

  const server = createServer((socket) => track(answer(socket).finally(() => socket.end()))).listen(path);
  await once(server, 'listening');
  return {
    run,
    stop: async () => {
      server.close();
      while (underWay.size > 0) await Promise.all(underWay);
      await files.close();
    },
  };
};
