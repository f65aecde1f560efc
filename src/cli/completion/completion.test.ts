import { spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { callCli } from '../../../test/support/cli/call-cli.ts';
import { makeSquares, memoryCommandLine } from '../../../test/support/cli/command-line.ts';
import { statuses } from '../../schema/statuses.ts';
import { topics } from '../dispatch/help.ts';
import { commands } from '../dispatch/registry.ts';
import { commonOptions } from '../parse/common-options.ts';
import { completionScript } from './index.ts';
import { type Shell, shells } from './shells.ts';

let folder: string;

/**
 * A stand-in for `perdure` that answers the shells' completions and records the calls. Its errors must not become
 * visible.
 */
const answering = `#!/bin/sh
echo "$*" >> asked
printf 'ses_first\\tThe first: one\\nses_second\\tThe second\\n'
echo an error >&2
exit 1
`;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'perdure-complete-'));
  mkdirSync(join(folder, 'bin'));
  writeFileSync(join(folder, 'bin', 'perdure'), answering);
  chmodSync(join(folder, 'bin', 'perdure'), 0o755);
  writeFileSync(join(folder, 'bundle.perdure'), '');
  for (const shell of shells) {
    writeFileSync(join(folder, `script.${shell}`), completionScript(shell, commands, topics));
  }
});
afterAll(() => rmSync(folder, { recursive: true }));

const run = (shell: string, args: readonly string[]) => {
  const PATH = [join(folder, 'bin'), process.env.PATH].join(delimiter);
  const { stdout, stderr, error } = spawnSync(shell, args, {
    cwd: folder,
    encoding: 'utf8',
    env: { PATH, HOME: folder },
  });
  if (error) throw error;
  expect(stderr).toBe('');
  return stdout.split('\n').flatMap((line) => (line === '' ? [] : [line.split('\t')[0]!.trim()]));
};

const bashCompletions = (line: string, wordBreaks: string) =>
  run('bash', [
    '--norc',
    '-c',
    `source script.bash; COMP_WORDBREAKS=$2 COMP_LINE=$1 COMP_POINT=\${#1}; COMP_WORDS=($1); _perdure; printf '%s\\n' "\${COMPREPLY[@]}"`,
    'bash',
    line,
    wordBreaks,
  ]);

const completions: Readonly<Record<Shell, (line: string) => readonly string[]>> = {
  bash: (line) => bashCompletions(line, ' "\'><=;|&(:'),
  // Replaces zsh's own functions to see their input; a colon separates a word from its description.
  zsh: (line) =>
    run('zsh', [
      '-f',
      '-c',
      `_describe() { printf '%s\\n' "\${(@P)2}"; }; _files() { print -l -- *(N); }; compset() {}
       source ./script.zsh; words=("\${(@s: :)1}"); CURRENT=\${#words}; _perdure`,
      'zsh',
      line,
    ]).flatMap((each) => {
      const word = /^((?:\\:|[^:])*)/.exec(each)![1]!;
      return word.startsWith(line.split(/[ =]/).at(-1)!) ? [word] : [];
    }),
  fish: (line) => run('fish', ['--no-config', '-c', 'source script.fish; complete -C $argv[1]', line]),
};
const present = shells.filter((shell) => spawnSync(shell, ['--version']).status === 0);

test.each(present)('[CLI10, CLI24] %s completes commands, options, their values, ids and files', (shell) => {
  const completed = (line: string) => [...completions[shell](line)].sort();
  expect(completed('perdure wor')).toEqual(['worker', 'workers', 'workspaces']);
  expect(completed('perdure files ')).toEqual(['cat', 'diff', 'get', 'history', 'ls', 'put', 'restore']);
  expect(completed('perdure ls --st')).toEqual(['--status', '--store']);
  expect(completed('perdure fork --a')).toEqual(['--at']);
  expect(completed('perdure show --st')).toEqual(['--store']);
  expect(completed('perdure import --st')).toEqual(['--store']);
  expect(completed('perdure completion --store')).toEqual([]);
  expect(completed('perdure ls --status p')).toEqual(['paused', 'pausing']);
  expect(completed('perdure show ses_f')).toEqual(['ses_first']);
  expect(completed('perdure --store sqlite:a.db files ls ses_')).toEqual(['ses_first', 'ses_second']);
  expect(completed('perdure show ses_first ')).toEqual([]);
  expect(completed('perdure import bun')).toEqual(['bundle.perdure']);
  expect(completed('perdure help fo')).toEqual(['fork']);
  expect(completed('perdure help ')).toEqual(expect.arrayContaining(['ls', 'files', 'help', 'look', 'exit-codes']));
  expect(completed('perdure help files ')).toEqual(completed('perdure files '));
  expect(completed('perdure help fork ')).toEqual([]);
  expect(completed('perdure help --j')).toEqual(['--json']);
  expect(completed('perdure nonsense ')).toEqual([]);
  const [asked] = spawnSync('tail', ['-n', '1', join(folder, 'asked')], { encoding: 'utf8' }).stdout.split('\n');
  expect(asked).toBe('complete sessions --store sqlite:a.db');
});

test.each(present)('[CLI23] %s completes turns, places and paths of the session on the line', (shell) => {
  const asked = (line: string) => {
    expect([...completions[shell](line)].sort()).toEqual(['ses_first', 'ses_second']);
    return spawnSync('tail', ['-n', '1', join(folder, 'asked')], { encoding: 'utf8' }).stdout.trim();
  };
  expect(asked('perdure fork - --at ')).toBe('complete turns -');
  expect(asked('perdure retry ses_first ')).toBe('complete turns ses_first');
  expect(asked('perdure diff - ')).toBe('complete places -');
  expect(asked('perdure diff - 1 ')).toBe('complete places -');
  expect(asked('perdure files cat --store sqlite:a.db - ')).toBe('complete paths --store sqlite:a.db -');
  expect(asked('perdure files restore ')).toBe('complete sessions');
  expect(asked('perdure files restore - ')).toBe('complete places -');
  expect(asked('perdure files restore - 1 a.txt ')).toBe('complete paths -');
});

test('[CLI10] turns are listed newest first with their beginning, and paths only if they need no quoting', async () => {
  const { said, inLibrary } = memoryCommandLine();
  const id = await inLibrary(makeSquares);
  const squares = [3, 2, 1].map((n) => `${n}\tuser: What is ${n} times ${n}?\n`).join('');
  expect(await said(['complete', 'turns', id])).toBe(squares);
  expect(await said(['complete', 'places', '-'])).toBe(`${squares}${id}\tSquares\n`);
  expect(await said(['complete', 'turns'])).toBe('');
  await inLibrary(async (sessions) => {
    const { files } = await sessions.get(id);
    for (const path of ['src/main.ts', 'two words.txt']) await files.write(path, 'x');
  });
  expect(await said(['complete', 'paths', id])).toBe('src\t\nsrc/main.ts\t\n');
});

test('[CLI10] completion without a shell name uses the shell of the environment, and on a terminal instructions are printed', async () => {
  const named = (await callCli(['completion', 'zsh'])).raw;
  const env = { SHELL: '/usr/bin/zsh' };
  expect((await callCli(['completion'], { env, columns: Number.POSITIVE_INFINITY })).raw).toBe(named);
  expect((await callCli(['completion'], { env })).out).toBe(
    'To complete in zsh, put this line into ~/.zshrc, after compinit:\n  eval "$(perdure completion zsh)"\n',
  );
  for (const SHELL of ['/bin/tcsh', '']) {
    expect(await callCli(['completion'], { env: { SHELL } })).toMatchObject({
      code: 2,
      err: expect.stringMatching(/name a shell, bash,\s+zsh,\s+fish/),
    });
  }
});

test.each(present)('[CLI10] %s completes values after =', (shell) => {
  const completed = (line: string) => [...completions[shell](line)].sort();
  const given = (option: string, ...values: readonly string[]) =>
    values.map((value) => (shell === 'fish' ? `${option}=${value}` : value));
  expect(completed('perdure ls --status=p')).toEqual(given('--status', 'paused', 'pausing'));
  expect(completed('perdure ls --status=')).toEqual(given('--status', ...[...statuses].sort()));
  expect(completed('perdure members add ann@example.org --role=v')).toEqual(given('--role', 'viewer'));
  expect(completed('perdure ls --config=bun')).toEqual(given('--config', 'bundle.perdure'));
  expect(completed('perdure show --store=sqlite:b.db ses_f')).toEqual(['ses_first']);
  const [asked] = spawnSync('tail', ['-n', '1', join(folder, 'asked')], { encoding: 'utf8' }).stdout.split('\n');
  expect(asked).toBe('complete sessions --store=sqlite:b.db');
});

test('[CLI10] when bash does not split words at =, the whole word is completed', () => {
  expect(bashCompletions('perdure ls --status=paused', ' ')).toEqual(['--status=paused']);
});

test.each(present)('[CLI23] %s completes options before any command', (shell) => {
  const completed = (line: string) => completions[shell](line);
  const common = Object.keys(commonOptions).map((name) => `--${name}`);
  expect([...completed('perdure --')].sort()).toEqual(['--version', ...common].sort());
  expect(completed('perdure --he')).toEqual(['--help']);
  expect(completed('perdure --v')).toEqual(['--version']);
  expect(completed('perdure ls --v')).not.toContain('--version');
  expect(completed('perdure help --v')).not.toContain('--version');
  expect(completed('perdure ')).not.toContain('--help');
});

test.each(present)('[CLI23] %s completes options between the two words of a command', (shell) => {
  const completed = (line: string) => [...completions[shell](line)].sort();
  const common = Object.keys(commonOptions).map((name) => `--${name}`);
  expect(completed('perdure files --')).toEqual(common.sort());
  expect(completed('perdure files --st')).toEqual(['--store']);
  expect(completed('perdure workspaces --')).toEqual(completed('perdure workspaces ls --'));
  expect(completed('perdure files ')).not.toContain('--help');
  expect(completed('perdure files --store sqlite:c.db l')).toEqual(['ls']);
  expect(completed('perdure files --config bun')).toEqual(['bundle.perdure']);
  expect(completed('perdure help files --')).toEqual(completed('perdure help --'));
});

test.runIf(present.includes('zsh'))(
  '[CLI10] zsh completes at its own prompt',
  () => {
    const script = `zmodload zsh/zpty; zpty z zsh -f -i
    zpty -w z 'autoload -U compinit; compinit -u -D; source ./script.zsh; print REA""DY'
    zpty -r -m z seen '*READY*'
    zpty -w -n z $'perdure files hi\\t'
    zpty -r -m z seen '*story*' && print completed`;
    const { stdout } = spawnSync('zsh', ['-f', '-c', script], { cwd: folder, encoding: 'utf8', timeout: 20_000 });
    expect(stdout).toBe('completed\n');
  },
  25_000,
);

test('[CLI10] bash is available for the tests, and every option either takes a value in all commands or in none', () => {
  expect(present).toContain('bash');
  const types = new Map<string, string>();
  for (const { name, options } of commands) {
    for (const [option, { type }] of Object.entries({ ...options, ...commonOptions })) {
      expect(types.get(option) ?? type, `--${option} of ${name}`).toBe(type);
      types.set(option, type);
    }
  }
});
