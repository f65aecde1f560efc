import manifest from '../../../package.json' with { type: 'json' };
import type { PerdureError } from '../../schema/error.ts';
import { exitCodes, type Failure, failureOf } from '../parse/exit-codes.ts';
import { storeOf, withoutSecrets } from '../parse/store-address.ts';
import type { World } from '../parse/world.ts';
import { wrap } from '../terminal/display-width.ts';
import { printable, printableJson } from '../terminal/printable.ts';
import { silenceBreaker } from '../terminal/progress.ts';
import { linesText, OutputClosed } from '../terminal/terminal.ts';
import { contextFor } from './context-for.ts';
import { overview } from './help.ts';
import { nextStep } from './next-step.ts';
import { looseOptions, parseCall, type RunCall } from './parse-call.ts';

/** Runs a command and then closes the store, even if the command failed. Reports the first failure. */
const runCommand = async (world: World, call: RunCall, onStore: (address: string) => void): Promise<number> => {
  let loading: string | undefined;
  const { until, end } = silenceBreaker(world.err, () =>
    loading === undefined ? `perdure ${call.command.name}` : `loading ${printable(loading)}`,
  );
  const onLoading = (config: string | undefined): void => {
    loading = config;
  };
  /** Ends the progress line before a person is asked or the command waits for a signal. */
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

type ReportTarget = Pick<World, 'argv' | 'env' | 'err'>;

const failureText = (
  { argv, env, err }: ReportTarget,
  { code, message, details, stack }: Failure,
  { address, next }: { readonly address?: string | undefined; readonly next?: string | undefined },
): string => {
  const { json, store } = looseOptions(argv);
  const safe = (text: string): string => withoutSecrets(text, address ?? storeOf(store, env));
  const lines: string[] = argv.length === 0 ? [...overview(manifest.version, err), ''] : [];
  if (json) {
    lines.push(safe(printableJson({ error: { code, message, details } })));
  } else {
    const [first = '', ...more] = wrap(`error ${code}: ${printable(safe(message))}`, err.columns);
    lines.push(`${err.style('red', 'error')}${first.slice('error'.length)}`, ...more);
    if (next) lines.push(...wrap(next, err.columns).map((line) => err.style('dim', line)));
  }
  if (stack && env.PERDURE_DEBUG === '1') lines.push(...safe(stack).split('\n').map(printable));
  return linesText(lines);
};

/** Reports an error, with the store's password and terminal control sequences removed. */
export const report = async (target: ReportTarget, error: unknown, address?: string): Promise<number> => {
  const failure = failureOf(error);
  const next = await nextStep(failure.code, failure.message, target.argv);
  await target.err.write(failureText(target, failure, { address, next })).catch(() => {});
  return failure.exit;
};

/** Reports an error synchronously. Its message must already contain advice. */
export const reportAtOnce = (target: ReportTarget, error: PerdureError): number => {
  const failure = failureOf(error);
  void target.err.write(failureText(target, failure, {})).catch(() => {});
  return failure.exit;
};

/** Runs the call and returns its exit code. */
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
