import { expect, test } from 'vitest';
import { commands } from '../cli/dispatch/registry.ts';
import { type ErrorEntry, errorCatalog } from './error-catalog.ts';
import { runFailureCatalog } from './run-failure-catalog.ts';

const entries: readonly (readonly [string, ErrorEntry])[] = [
  ...Object.entries(errorCatalog),
  ...Object.entries(runFailureCatalog),
];
const texts = entries.flatMap(([code, { cause, remedy, details }]) => [
  [code, cause],
  [code, remedy],
  ...(details ? [[code, details]] : []),
]) as [string, string][];

test('every command and option that the error and run-failure catalogues mention exists', () => {
  const calls = texts.flatMap(([, text]) => [...text.matchAll(/`perdure ([^`]+)`/g)].map(([, call]) => String(call)));
  const unknown = calls.filter((call) => {
    const command = commands.find(({ name }) => call === name || call.startsWith(`${name} `));
    const flags = [...call.matchAll(/--([\w-]+)/g)].map(([, name]) => String(name));
    return !command || flags.some((name) => !Object.hasOwn(command.options, name));
  });
  expect(calls.length).toBeGreaterThan(10);
  expect(unknown).toEqual([]);
});

test('every text in the error and run-failure catalogues is a full sentence', () => {
  expect(texts.filter(([, text]) => !/^[A-Z`].*\.$/.test(text))).toEqual([]);
});

test('[CLI11] no remedy mentions details, because the CLI shows them only to programs', () => {
  expect(entries.filter(([, { remedy }]) => remedy.includes('details'))).toEqual([]);
});
