import manifest from '../../package.json' with { type: 'json' };
import type { Runtime, RuntimeOptions } from '../runtime.ts';
import { WorkspaceId } from '../schema/ids.ts';
import type { Context } from './command.ts';
import { exitCodes, failureOf } from './exit-codes.ts';
import { commandHelp, overview } from './help.ts';
import { looseOptions, type ParsedCall, parseCall } from './parse-call.ts';
import { printable, printableJson } from './printable.ts';
import { defaultStore, refuseMissingStore, withoutSecrets } from './store-address.ts';
import { OutputClosed, type Terminal } from './terminal.ts';
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

const linesText = (lines: string | readonly string[]): string =>
  typeof lines === 'string' ? `${lines}\n` : lines.map((line) => `${line}\n`).join('');

const storeOf = (option: string | undefined, env: World['env']): string =>
  option ?? (env.PERDURE_STORE || defaultStore);

const workspaceOf = (option: string | undefined, env: World['env']): string => {
  const name = option ?? (env.PERDURE_WORKSPACE || 'local');
  const parsed = WorkspaceId.safeParse(name);
  if (parsed.success) return parsed.data;
  throw wrongCall(`"${name}" is not the name of a workspace: ${parsed.error.issues[0]?.message}`);
};

/** Runs a command on the store it names, which is closed again however the command ends. */
const runCommand = async (world: World, { command, args, options }: Extract<ParsedCall, { kind: 'run' }>) => {
  const { out, err, stdin, now, interrupted } = world;
  const json = options.json ?? false;
  const address = storeOf(options.store, world.env);
  const workspace = workspaceOf(options.workspace, world.env);
  let opening: Promise<Runtime> | undefined;
  const open = (): Promise<Runtime> => {
    if (!command.makesStore) refuseMissingStore(address);
    const onWarning = (problem: unknown) => {
      const message = problem instanceof Error ? problem.message : String(problem);
      void err.write(`warning: ${printable(withoutSecrets(message, address))}\n`);
    };
    return world.openRuntime({ store: address, onWarning });
  };
  const context: Context = {
    out,
    err,
    stdin,
    json,
    now,
    interrupted,
    sessions: async () => {
      opening ??= open();
      return (await opening).as({ workspace, member: 'local' }).sessions;
    },
    answer: (value, lines) => out.write(json ? `${printableJson(value)}\n` : linesText(lines())),
  };
  const close = async (): Promise<void> => (await opening)?.close();
  try {
    const ended = await command.run(context, { args, options });
    await close();
    return ended;
  } catch (error) {
    await close().catch(() => {}); // the first failure is the one to tell
    throw error;
  }
};

const obey = async (world: World): Promise<number> => {
  const call = parseCall(world.argv);
  switch (call.kind) {
    case 'version':
      await world.out.write(`${manifest.version}\n`);
      return exitCodes.success;
    case 'help':
      await world.out.write(
        linesText(call.about ? commandHelp(call.about, world.out) : overview(manifest.version, world.out)),
      );
      return exitCodes.success;
    case 'run':
      return exitCodes[(await runCommand(world, call)) ?? 'success'];
  }
};

/** Tells what went wrong, without the store's password and without anything that a terminal would obey. */
export const report = async ({ argv, env, err }: Pick<World, 'argv' | 'env' | 'err'>, error: unknown) => {
  const { code, message, details, exit, stack } = failureOf(error);
  const { json, store } = looseOptions(argv);
  const safe = (text: string): string => withoutSecrets(text, storeOf(store, env));
  const lines = json
    ? [safe(printableJson({ error: { code, message, details } }))]
    : [`${err.style('red', 'error')} ${err.style('bold', code)}: ${printable(safe(message))}`];
  if (stack && env.PERDURE_DEBUG === '1') lines.push(...safe(stack).split('\n').map(printable));
  if (argv.length === 0) lines.push(...overview(manifest.version, err));
  await err.write(linesText(lines)).catch(() => {});
  return exit;
};

/** Does what the call says and gives the exit code. */
export const runCli = async (world: World): Promise<number> => {
  try {
    return await obey(world);
  } catch (error) {
    if (error instanceof OutputClosed) return exitCodes.success;
    return report(world, error);
  }
};
