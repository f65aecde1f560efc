import { expect, test } from 'vitest';
import { commands } from '../../src/cli/dispatch/registry.ts';
import { cliPage } from './cli-page.ts';

test('[DOC1] the page begins by explaining the notes after examples', () => {
  const marks = commands.flatMap(({ examples }) => examples.flatMap((each) => / {2}# (?:needs|.+$)/.exec(each) ?? []));
  const [top = ''] = cliPage.render().split('## Commands');
  expect(new Set(marks)).not.toEqual(new Set());
  for (const mark of marks) expect(top).toContain(`\`${mark.trim()}`);
});

test('a command lists the common options that it accepts, unless it accepts all of them', () => {
  const page = cliPage.render();
  const of = (name: string): string => page.split(`### perdure ${name}\n`)[1]!.split('```')[0]!;
  expect(of('demo')).toContain('it takes `--json`, `--help`.');
  expect(of('serve')).toContain('it takes `--store`, `--config`, `--workspace`, `--json`, `--help`.');
  expect(of('ls')).not.toContain('it takes');
});
