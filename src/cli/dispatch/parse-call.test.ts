import { expect, test } from 'vitest';
import { commonOptions } from '../parse/common-options.ts';
import { groupOf, otherWishes, otherWords } from './name-command.ts';
import { looseOptions, parseCall } from './parse-call.ts';
import { commands, findCommand } from './registry.ts';

const run = (...argv: string[]) => {
  const call = parseCall(argv);
  if (call.kind !== 'run') throw new Error(`expected a run, got ${call.kind}`);
  return { name: call.command.name, args: call.args, options: { ...call.options } };
};

test('a call is a command with its arguments and options in any order', () => {
  const expected = { name: 'append', args: ['ses_x', 'hello'], options: { role: 'system', json: true } };
  expect(run('append', 'ses_x', 'hello', '--role', 'system', '--json')).toEqual(expected);
  expect(run('--json', 'append', '--role=system', 'ses_x', 'hello')).toEqual(expected);
  expect(run('--store', 'ls', 'ls')).toEqual({ name: 'ls', args: [], options: { store: 'ls' } });
});

test('text that begins with a dash is accepted after --, and a lone dash is an argument', () => {
  expect(run('append', 'ses_x', '--', '--help').args).toEqual(['ses_x', '--help']);
  expect(run('append', 'ses_x', '-').args).toEqual(['ses_x', '-']);
  expect(looseOptions(['append', 'ses_x', '--', '--json']).json).toBe(false);
});

test('help and version are recognized at any position', () => {
  expect(parseCall(['--version'])).toEqual({ kind: 'version', json: false });
  expect(parseCall(['--json', '--version'])).toEqual({ kind: 'version', json: true });
  const cases: readonly (readonly [argv: readonly string[], words: readonly string[], json?: true])[] = [
    [['--help'], []],
    [['-h'], []],
    [['help'], []],
    [['help', '--json'], [], true],
    [['--json', '--help'], [], true],
    [['help', 'ls'], ['ls']],
    [['ls', '--help'], ['ls']],
    [['-h', 'ls'], ['ls']],
    [['ls', '--store', 'memory', '--help', '--json'], ['ls'], true],
    [['files', '--help'], ['files']],
    [
      ['files', 'ls', '--help'],
      ['files', 'ls'],
    ],
    [['help', '--help'], ['help']],
  ];
  for (const [argv, words, json] of cases)
    expect(run(...argv), argv.join(' ')).toEqual({ name: 'help', args: words, options: json ? { json } : {} });
});

test('[CLI1, CLI8, CLI22] a wrong call names the problem, the probable intention and where to find help', () => {
  const cases: readonly (readonly [argv: readonly string[], problem: RegExp])[] = [
    [[], /^a command is missing/],
    [['--json'], /^--json needs a command: `perdure help`/],
    [['--nope'], /^there is no option --nope: `perdure help`/],
    [['--json', '--nope=1'], /^there is no option --nope: `perdure help`/],
    [['--sotre'], /^there is no option --sotre: did you mean --store\?/],
    [['--title=x'], /^--title=x needs a command/],
    [['-x'], /^there is no option -x: `perdure help`/],
    [['--sotre', 'x', 'ls'], /^there is no option --sotre: did you mean --store\?/],
    [['--json', '-x', 'ls'], /^there is no option -x: `perdure help`/],
    [['--limit', '3', 'ls'], /^--limit is an option of ls: put it after the command, `perdure ls --limit …`$/],
    [['--agent', 'demo', 'open'], /^--agent is an option of open: put it after the command/],
    [['--title', 'open', 'ls'], /^--title is an option of open: put it after the command/],
    [
      ['--dry-run', 'files', 'restore', 'ses_x', '0'],
      /^--dry-run is an option of files restore: put it after the command/,
    ],
    [['--limit', '3', 'demo'], /^--limit is an option of some commands: put it after the command/],
    [['opne'], /no command "opne": did you mean `perdure open`\? `perdure help`/],
    [['frobnicate'], /no command "frobnicate": `perdure help` lists them all/],
    [['hlep'], /did you mean `perdure help`/],
    [['file', 'ls'], /no command "file ls": did you mean `perdure files ls`/],
    [['keys', 'creat'], /did you mean `perdure keys create`/],
    [['list'], /no command "list": did you mean `perdure ls`/],
    [['version'], /did you mean `perdure --version`/],
    [['-v'], /^there is no option -v: did you mean --version\?/],
    [['events'], /no command "events": did you mean `perdure log`/],
    [['status'], /no command "status": did you mean `perdure show`/],
    [['cost'], /no command "cost": did you mean `perdure usage`/],
    [['rename'], /no command "rename": did you mean `perdure title`/],
    [['init'], /no command "init": did you mean `perdure setup`/],
    [['delete', 'ses_x'], /no command "delete": nothing deletes a session yet: .*`perdure close`.*`perdure archive`$/],
    [['rm', 'ses_x'], /no command "rm": nothing deletes a session yet/],
    [['config'], /no command "config": `perdure help environment` .*perdure\.config\.ts$/],
    [['search', 'x'], /no command "search": `perdure log --all` finds .* `perdure files history`/],
    [['files', 'foo'], /no command "files foo": there are ls, cat, .*; `perdure help files`/],
    [['ls', '--status', 'opne'], /--status is open, .*; got "opne": did you mean open\?/],
    [['keys', 'create', '--area', 'sessions', '--area', 'filez'], /--area is .*"filez": did you mean files\?/],
    [['constructor'], /no command/],
    [['open', '--titel', 'x'], /open has no option --titel: did you mean --title\? see `perdure help open`/],
    [['open', '--zzz'], /open has no option --zzz/],
    [['append', 'ses_x', '-5'], /append has no option -5: put text that begins with - after --/],
    [['open', '--title'], /--title needs a value.*`perdure help open`/],
    [['open', '--title', '--json'], /--title needs a value/],
    [['ls', '--all=yes'], /--all takes no value/],
    [['show'], /show needs SESSION: see `perdure help show`/],
    [['export'], /export needs SESSION: see/],
    [['append', 'ses_x', 'two', 'words'], /append has no place for "words" \(quote text with spaces\)/],
    [['ls', 'ses_x'], /ls has no place for "ses_x"/],
    [['demo', '--store', 'sqlite:x.db'], /^demo does not take --store: leave it out$/],
    [['demo', '--server=http://localhost'], /^demo does not take --server/],
    [['agents', '--workspace', 'acme'], /^agents does not take --workspace/],
    [['serve', '--server', 'http://localhost'], /^serve works on the store itself, not through a server/],
    [['worker', '--key-file', 'key'], /^worker works on the store itself, not through a server/],
    [['help', '--zzz'], /^help has no option --zzz/],
  ];
  for (const [argv, problem] of cases) {
    expect(() => parseCall(argv), argv.join(' ')).toThrow(expect.objectContaining({ code: 'INVALID_INPUT' }));
    expect(() => parseCall(argv), argv.join(' ')).toThrow(problem);
  }
});

test('[CLI8] no word that redirects users of other tools is itself a command', () => {
  const words = Object.keys({ ...otherWords, ...otherWishes });
  expect(words.filter((word) => findCommand(word) || groupOf(word).length > 0)).toEqual([]);
  expect(Object.values(otherWords).filter((name) => !findCommand(name))).toEqual(['--version']);
});

test('[CLI13] no command redefines a common option, and every example parses', () => {
  for (const { name, options, examples } of commands) {
    expect(Object.keys(options).filter((option) => Object.hasOwn(commonOptions, option))).toEqual([]);
    expect(examples.length).toBeGreaterThan(0);
    for (const example of examples) {
      const [, call = ''] = /(?:^|\| |\$\()perdure (\w.*?)(?: \||\)| {2}#|$)/.exec(example) ?? [];
      const argv = Array.from(call.matchAll(/'([^']*)'|(\S+)/g), ([, quoted, plain]) => quoted ?? plain ?? '');
      expect(run(...argv).name, example).toMatch(example.includes('ssh') ? /export|import/ : new RegExp(`^${name}$`));
    }
  }
});

test.each([
  [['--store', 'x', 'help']],
  [['help', '--workspace', 'no name!', '--server', 'x', '--key-file=y', '--config', 'z']],
])('[CLI27] help is shown whatever common options the call has: %j', (argv) => {
  expect(parseCall(argv)).toEqual(parseCall(['help']));
  expect(parseCall([...argv, 'ls', '--json'])).toEqual(parseCall(['help', 'ls', '--json']));
  expect(parseCall([...argv.filter((word) => word !== 'help'), 'demo', '--help'])).toEqual(parseCall(['help', 'demo']));
});
