import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { exitCodes } from '../../../src/cli/parse/exit-codes.ts';
import type { startCommandsHere } from './commands-here.ts';
import { putPrograms } from './run-shell.ts';

const ours = (name: string): string => new URL(`../../../src/cli/config/${name}`, import.meta.url).href;

/** The built-in demo agent, but without its pauses between words. */
const config = `import { demoAgent } from '${ours('demo-agent.ts')}';
export default { agents: [demoAgent] };
`;

const files: Readonly<Record<string, string>> = {
  'perdure.config.ts': config,
  'team.config.ts': config,
  'questions.txt': 'hello\nWhat can you do?\n',
  'log.txt': 'a line\n',
  'main.ts': 'export {};\n',
  'src/main.ts': 'export const port = 8080;\n',
  'data.json': '{ "port": 8080 }\n',
  'kept/report.md': '# A report\n',
  'chart.png': 'a picture',
};

/**
 * Makes a folder with everything that examples name: a repository with an uncommitted change, and stand-ins for
 * programs that use the network.
 */
export const makeExampleFolder = (folder: string): void => {
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), text);
  }
  putPrograms(folder, { gh: 'echo a-token-of-github', ssh: 'shift; exec "$@"' });
  execFileSync('git', ['init', '--quiet'], { cwd: folder });
  execFileSync('git', ['add', '--intent-to-add', 'log.txt'], { cwd: folder });
};

/** Runs a set-up command and returns its JSON answer. */
// biome-ignore lint/suspicious/noExplicitAny: every command answers in a different shape
export type Perdure = (...argv: readonly string[]) => Promise<any>;

export const perdureIn =
  (
    folder: string,
    env: Readonly<Record<string, string>>,
    { run }: Awaited<ReturnType<typeof startCommandsHere>>,
  ): Perdure =>
  async (...argv) => {
    const { code, out, err } = await run({ argv: [...argv, '--json'], folder, env });
    if (code !== exitCodes.success && code !== exitCodes.waiting) throw new Error(`perdure ${argv.join(' ')}: ${err}`);
    return JSON.parse(out.trim().split('\n').at(-1)!);
  };

const namedSeq = 17;
const retriedTurn = 5;

/**
 * Makes a session with everything that examples name: seq 17 is a commit, turn 5 was retried, and a file changed since
 * turn 3.
 */
export const openExampleSession = async (perdure: Perdure): Promise<string> => {
  const { id } = await perdure('open', '--agent', 'demo');
  for (let seq = 0; seq < namedSeq - 1; ) ({ seq } = await perdure('commit', id, '--fact', `n=${seq}`));
  await perdure('commit', id, '--fact', 'port=8080');
  for (const file of ['src/main.ts', 'data.json']) await perdure('files', 'put', id, file, file);
  for (let turn = 1; turn <= retriedTurn; turn++) await perdure('send', id, 'hello');
  await perdure('retry', id, String(retriedTurn));
  await perdure('worker', '--once', '--session', id);
  await perdure('files', 'put', id, 'src/main.ts', 'main.ts');
  await perdure('artifacts', id, '--keep', 'kept/report.md');
  return id;
};
