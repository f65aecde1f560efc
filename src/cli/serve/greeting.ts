import { relative } from 'node:path';
import type { Runtime } from '../../runtime.ts';
import { scriptNote } from '../config/script-note.ts';
import { keptKeyFile, keyFileIn, readKeptKey } from '../names/kept-key.ts';
import type { Context } from '../parse/command.ts';
import { modelProblems, modelsText } from '../render/model-text.ts';
import { shellWord } from '../render/wrap-command.ts';
import { wrap } from '../terminal/display-width.ts';
import type { FirstKey } from './first-key.ts';

export interface Served {
  readonly url: string;
  readonly takenPort: number | undefined;
  readonly workers: number;
  /** Set only at the first start. */
  readonly key: FirstKey | undefined;
}

const shortest = (file: string): string => {
  const fromHere = relative('.', file);
  return fromHere.startsWith('..') ? file : fromHere;
};

interface Key {
  readonly line: string;
  /** File from which commands read the key, if there is one. */
  readonly file?: string;
}

const keyOf = async (context: Context, runtime: Runtime, first: FirstKey | undefined): Promise<Key> => {
  if (first && !first.isKept) return { line: `the admin key, shown only once, for PERDURE_KEY: ${first.token}` };
  const kept = readKeptKey(runtime.data);
  if (kept !== undefined && (await runtime.authenticate(kept))) {
    const file = keptKeyFile(runtime.data);
    return { line: `the admin key is in ${shortest(file)}, which only you can read`, file };
  }
  const remedy = context.commandText('keys', 'create', 'local');
  return { line: `there is no valid key here: put yours into PERDURE_KEY, or make one with \`${remedy}\`` };
};

/** Three commands that work as printed in the same folder, with the saved key or with a key in PERDURE_KEY. */
const tryNext = async (context: Context, url: string, { file }: Key): Promise<readonly string[]> => {
  const config = await context.config();
  const [first] = config.agents;
  const words = scriptNote(config) === undefined ? 'What is in your folder?' : 'tour';
  const chosen = config.agents.length > 1 ? ['--agent', first!.name] : [];
  const isFound = file === undefined || keyFileIn(process.cwd(), url) === file;
  const there = ['--server', url, ...(isFound ? [] : ['--key-file', shortest(file)])];
  return [['send', '--new', words, ...chosen], ['ls'], ['verify', '--all']].map(
    (call) => `  ${context.program} ${[...call, ...there].map(shellWord).join(' ')}`,
  );
};

/** The first lines that a server prints. */
export const greetingOf = async (
  context: Context,
  runtime: Runtime,
  { url, takenPort, workers, key: first }: Served,
): Promise<readonly string[]> => {
  const config = await context.config();
  const taken = takenPort === undefined ? '' : `, since port ${takenPort} is in use`;
  const agents = runtime.agents.list();
  const uses = agents.map(
    ({ name, version, models }) => `${name} ${version} uses ${models.length > 0 ? modelsText(models) : 'no model'}`,
  );
  const key = await keyOf(context, runtime, first);
  const about = [
    `serving ${context.storeName()} at ${url}${taken}`,
    scriptNote(config) ?? `agents: ${uses.join('; ')}`,
    ...modelProblems(agents),
    ...(workers > 1 ? [`${workers} worker processes execute runs`] : []),
    ...(workers > 0 ? [] : [`no worker runs here: start one with \`${context.commandText('worker')}\``]),
    key.line,
  ];
  return [
    ...about.flatMap((line) => wrap(line, context.out.columns)),
    '',
    'try next, in another terminal:',
    '',
    ...(await tryNext(context, url, key)).map((line) => context.out.style('bold', line)),
    '',
    `${url}/v1/docs describes all routes; Ctrl-C stops it`,
  ];
};
