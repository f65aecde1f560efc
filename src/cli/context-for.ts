import type { Sessions } from '../core/service/sessions.ts';
import type { Runtime, RuntimeOptions } from '../runtime.ts';
import { SessionId, WorkspaceId } from '../schema/ids.ts';
import type { Context } from './command.ts';
import { wrap } from './display-width.ts';
import type { ParsedCall } from './parse-call.ts';
import { printable, printableJson } from './printable.ts';
import { defaultStore, refuseMissingStore, withoutSecrets } from './store-address.ts';
import { linesText, type Terminal } from './terminal.ts';
import { wrongCall } from './wrong-call.ts';

/** All that a call touches outside itself. */
export interface World {
  readonly argv: readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly stdin: () => AsyncIterable<Uint8Array>;
  readonly out: Terminal;
  readonly err: Terminal;
  readonly now: () => number;
  readonly interrupted: () => AbortSignal;
  readonly openRuntime: (options: RuntimeOptions) => Promise<Runtime>;
}

export const storeOf = (option: string | undefined, env: World['env']): string =>
  option ?? (env.PERDURE_STORE || defaultStore);

const parseWorkspace = (name: string): WorkspaceId => {
  const parsed = WorkspaceId.safeParse(name);
  if (parsed.success) return parsed.data;
  throw wrongCall(`"${name}" is not the name of a workspace: ${parsed.error.issues[0]?.message}`);
};

const parseSessionId = (named: string): SessionId => {
  const parsed = SessionId.safeParse(named);
  if (parsed.success) return parsed.data;
  const why = parsed.error.issues[0]?.message;
  throw wrongCall(`"${named}" is not a session: ${why}; \`perdure ls\` lists those there are`);
};

/** Names are checked before the store is opened: a wrong call makes no file. */
export const contextFor = (
  world: World,
  { command, options }: Extract<ParsedCall, { kind: 'run' }>,
): { readonly context: Context; readonly close: () => Promise<void> } => {
  const { out, err, stdin, now, interrupted } = world;
  const json = options.json ?? false;
  const address = storeOf(options.store, world.env);
  const workspace = parseWorkspace(options.workspace ?? (world.env.PERDURE_WORKSPACE || 'local'));
  const onWarning = (problem: unknown): void => {
    const message = problem instanceof Error ? problem.message : String(problem);
    err.write(`warning: ${printable(withoutSecrets(message, address))}\n`).catch(() => {});
  };
  let opening: Promise<Runtime> | undefined;
  const sessions = async (): Promise<Sessions> => {
    if (!command.makesStore) refuseMissingStore(address);
    opening ??= world.openRuntime({ store: address, onWarning });
    return (await opening).as({ workspace, member: 'local' }).sessions;
  };
  const context: Context = {
    out,
    err,
    stdin,
    json,
    now,
    interrupted,
    sessions,
    session: async (named) => {
      const id = parseSessionId(named);
      return (await sessions()).get(id);
    },
    answer: (value, tell) => {
      if (json) return out.write(`${printableJson(value)}\n`);
      const lines = tell();
      return out.write(linesText(typeof lines === 'string' ? wrap(lines, out.columns) : lines));
    },
    note: async (text) => {
      if (!json) await err.write(linesText(wrap(text, err.columns).map((line) => err.style('dim', line))));
    },
  };
  return { context, close: async () => (await opening)?.close() };
};
