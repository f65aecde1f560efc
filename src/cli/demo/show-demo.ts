import { existsSync } from 'node:fs';
import { mkdtemp, readdir, realpath, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, extname, join } from 'node:path';
import { fileProblem } from '../../core/host/file-problem.ts';
import { makeFolder } from '../../core/host/make-folder.ts';
import { PerdureError } from '../../schema/error.ts';
import type { Context, Surroundings } from '../parse/command.ts';
import type { Ending } from '../parse/exit-codes.ts';
import type { Env } from '../parse/world.ts';
import { shellWord } from '../render/wrap-command.ts';
import { wrap } from '../terminal/display-width.ts';
import { hangingIndent } from '../terminal/hanging-indent.ts';
import { withProgress } from '../terminal/progress.ts';
import { linesText } from '../terminal/terminal.ts';
import { ClaimFailed } from './claims.ts';
import { Narrator } from './narrator.ts';
import { tellStory } from './story.ts';
import { WorkerProcesses } from './worker-processes.ts';

const agentModule = new URL(`../config/story-agent${extname(import.meta.url)}`, import.meta.url).href;

const unusable = (file: string, why: string, cause?: unknown): PerdureError =>
  new PerdureError('FILE_UNAVAILABLE', `${why}: --in names a new or empty folder`, { details: { file }, cause });

const configFile = 'perdure.config.mjs';
const config = `export { storyConfig as default } from ${JSON.stringify(agentModule)};\n`;

/** Prepares a new or empty folder with the configuration of the demo. Returns its real path. */
const prepareFolder = async (named: string | undefined): Promise<string> => {
  const begins = join(tmpdir(), 'perdure-demo-');
  try {
    const folder = named ?? (await mkdtemp(begins));
    await makeFolder(folder);
    if ((await readdir(folder)).length > 0) throw unusable(folder, `${folder} is not empty`);
    await writeFile(join(folder, configFile), config);
    return await realpath(folder);
  } catch (cause) {
    if (cause instanceof PerdureError) throw cause;
    const file = named ?? begins;
    throw unusable(file, `cannot write ${file} (${fileProblem(cause)})`, cause);
  }
};

/** The environment without the variables that would make commands use another store. */
const environmentOf = (env: Env): Env =>
  Object.fromEntries(Object.entries(env).filter(([name]) => !name.startsWith('PERDURE_')));

/** Whether a shell finds `perdure`. Under npm, `PATH` is not that of the user's shell. */
const isOnPath = ({ PATH = '', npm_lifecycle_event }: Env): boolean =>
  npm_lifecycle_event === undefined && PATH.split(delimiter).some((folder) => existsSync(join(folder, 'perdure')));

/** Variables that would make the suggested commands use another store. */
const leadingElsewhere = ['PERDURE_STORE', 'PERDURE_SERVER', 'PERDURE_WORKSPACE'] as const;

export const lookAround = async (folder: string, session: string, env: Env): Promise<readonly string[]> => {
  const program = await realpath(process.argv[1]!);
  const set = leadingElsewhere.filter((name) => env[name]);
  return [
    `cd ${shellWord(folder)}`,
    ...(set.length > 0 ? [`unset ${set.join(' ')}`] : []),
    ...(isOnPath(env) ? [] : [`alias perdure=${shellWord(program)}`]),
    'perdure ls',
    `perdure files history ${session} limiter.js`,
  ].map((line) => `  ${line}`);
};

const removing = (folder: string): string => `  rm -r ${shellWord(folder)}`;

/**
 * Says where the folder of an interrupted demo is. Begins with an empty line, because Ctrl-C may interrupt a line of
 * output.
 */
export const tellLeft = async ({ json, err }: Pick<Context, 'json' | 'err'>, folder: string): Promise<void> => {
  if (json) return;
  const said = wrap(`Stopped in the middle. What was done until then is in ${folder}`, err.columns);
  await err.write(linesText(['', ...said, '', 'To remove it:', '', removing(folder)]));
};

const runStory = async (
  context: Context,
  folder: string,
  workers: WorkerProcesses,
  surroundings: Partial<Surroundings>,
): Promise<Ending> => {
  const narrator = new Narrator(context, surroundings);
  const waiting = <T>(what: string, work: () => Promise<T>): Promise<T> =>
    context.json ? work() : withProgress(context.err, () => what, work);
  try {
    await narrator.say(
      'A script answers here, not a model. Everything else is real: each command runs as it is shown, and each claim is checked.',
      '',
    );
    await narrator.typed(`cd ${shellWord(folder)}`);
    const [{ value: session }] = await tellStory({ narrator, workers, waiting });
    const next = await lookAround(folder, session, process.env);
    await narrator.say('', 'That was all. The folder stays for you to look around:', '');
    await narrator.show(...next, '');
    await narrator.say('To remove it:', '');
    await narrator.show(removing(folder));
    return 'success';
  } catch (error) {
    if (!(error instanceof ClaimFailed)) throw error;
    const { err } = context;
    const problem = `this does not hold: ${error.message}; see ${folder}`;
    await err.write(linesText(hangingIndent('✗ ', problem, err.columns, `${err.style('red', '✗')} `)));
    return 'failure';
  } finally {
    if (context.json) await context.answer({ folder, claims: narrator.claims.made }, () => []);
  }
};

/** Runs the demo. Each command runs in the folder of the demo, with the same code as on the command line. */
export const showDemo = async (context: Context, named: string | undefined): Promise<Ending> => {
  const folder = await prepareFolder(named);
  process.chdir(folder);
  const env = environmentOf(process.env);
  const workers = new WorkerProcesses(folder, env);
  const left = Promise.withResolvers<Ending>();
  const release = context.onInterrupt(() => {
    left.resolve(tellLeft(context, folder).then(() => 'detached'));
  });
  const surroundings: Partial<Surroundings> = {
    env,
    folder,
    program: 'perdure',
    person: () => undefined,
    onInterrupt: () => () => {},
    startDetached: (args) => void workers.start(args),
  };
  try {
    return await Promise.race([runStory(context, folder, workers, surroundings), left.promise]);
  } finally {
    release();
    await workers.stop();
  }
};
