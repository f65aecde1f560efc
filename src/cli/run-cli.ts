import manifest from '../../package.json' with { type: 'json' };
import { contextFor } from './context-for.ts';
import { wrap } from './display-width.ts';
import { exitCodes, failureOf } from './exit-codes.ts';
import { overview } from './help.ts';
import { nextStep } from './next-step.ts';
import { looseOptions, parseCall, type RunCall } from './parse-call.ts';
import { printable, printableJson } from './printable.ts';
import { silenceBreaker } from './progress.ts';
import { storeOf, withoutSecrets } from './store-address.ts';
import { linesText, OutputClosed } from './terminal.ts';
import type { World } from './world.ts';

/** The store is closed however the command ends, and the first failure is the one to tell. */
const runCommand = async (world: World, call: RunCall, onStore: (address: string) => void): Promise<number> => {
  let loading: string | undefined;
  const { until, end } = silenceBreaker(world.err, () =>
    loading === undefined ? `perdure ${call.command.name}` : `loading ${printable(loading)}`,
  );
  const onLoading = (config: string | undefined): void => {
    loading = config;
  };
  /** Whoever is asked something or waits for a signal is not kept waiting by us. */
  const ending =
    <Args extends readonly unknown[], T>(ask: (...args: Args) => T) =>
    (...args: Args): T => {
      void end();
      return ask(...args);
    };
  const quiet: World = {
    ...world,
    out: until(world.out),
    err: until(world.err),
    stdin: ending(world.stdin),
    person: ending(world.person),
    ...(world.hiddenLine && { hiddenLine: ending(world.hiddenLine) }),
    onInterrupt: ending(world.onInterrupt),
    interrupted: ending(world.interrupted),
  };
  try {
    const { context, close } = contextFor(quiet, call, { onStore, onLoading });
    try {
      const ended = await call.command.run(context, call);
      await close();
      return exitCodes[ended ?? 'success'];
    } catch (error) {
      await close().catch(() => {});
      throw error;
    }
  } finally {
    await end();
  }
};

const obey = async (world: World, onStore: (address: string) => void): Promise<number> => {
  const call = parseCall(world.argv);
  if (call.kind === 'run') return runCommand(world, call, onStore);
  const { version } = manifest;
  await world.out.write(call.json ? `${printableJson({ version })}\n` : `${version}\n`);
  return exitCodes.success;
};

/** Tells what went wrong, without the store's password and without anything that a terminal would obey. */
export const report = async (
  { argv, env, err }: Pick<World, 'argv' | 'env' | 'err'>,
  error: unknown,
  address?: string,
): Promise<number> => {
  const { code, message, details, exit, stack } = failureOf(error);
  const { json, store } = looseOptions(argv);
  const safe = (text: string): string => withoutSecrets(text, address ?? storeOf(store, env));
  const lines: string[] = argv.length === 0 ? [...overview(manifest.version, err), ''] : [];
  if (json) {
    lines.push(safe(printableJson({ error: { code, message, details } })));
  } else {
    const [first = '', ...more] = wrap(`error ${code}: ${printable(safe(message))}`, err.columns);
    lines.push(`${err.style('red', 'error')}${first.slice('error'.length)}`, ...more);
    const next = await nextStep(code, message, argv);
    if (next) lines.push(...wrap(next, err.columns).map((line) => err.style('dim', line)));
  }
  if (stack && env.PERDURE_DEBUG === '1') lines.push(...safe(stack).split('\n').map(printable));
  await err.write(linesText(lines)).catch(() => {});
  return exit;
};

/** Does what the call says and gives the exit code. */
export const runCli = async (world: World): Promise<number> => {
  let address: string | undefined;
  try {
    return await obey(world, (store) => {
      address = store;
    });
  } catch (error) {
    if (error instanceof OutputClosed) return exitCodes.success;
    return report(world, error, address);
  }
};
