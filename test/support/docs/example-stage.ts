import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { exitCodes } from '../../../src/cli/parse/exit-codes.ts';
import type { startCommandsHere } from './commands-here.ts';
import { putPrograms } from './run-shell.ts';

const ours = (name: string): string => new URL(`../../../src/cli/config/${name}`, import.meta.url).href;

/** The agent that is there without a configuration, but for its pauses between words. */
const config = `import { demoAgent } from '${ours('demo-agent.ts')}';
import { demoTour } from '${ours('demo-script.ts')}';
export default { agents: [demoAgent], models: { scripts: [demoTour] } };
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

/** A folder with whatever examples name, which is a repository with a change in it, and stand-ins for programs that reach elsewhere. */
export const makeExampleFolder = (folder: string): void => {
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), text);
  }
  putPrograms(folder, { gh: 'echo a-token-of-github', ssh: 'shift; exec "$@"' });
  execFileSync('git', ['init', '--quiet'], { cwd: folder });
  execFileSync('git', ['add', '--intent-to-add', 'log.txt'], { cwd: folder });
};

/** A command that sets things up; gives what it answers. */
// biome-ignore lint/suspicious/noExplicitAny: commands answer in as many shapes as there are
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

/** A session with whatever examples name: seq 17 is a commit, turn 5 was asked twice, and a file has changed since turn 3. */
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
