import { execFile } from 'node:child_process';
import { isAbsolute } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { stackOf } from '../parse/thrown-text.ts';

/** A file, a line and, if known, a column; both count from 1. */
type CodePlace = readonly [file: string, line: number, column?: number];

const pathOf = (named: string): string => (named.startsWith('file:') ? fileURLToPath(named) : named);

/**
 * Parses the position that Node prints above a syntax error: file, line, source text, and a mark under the column.
 * The mark is missing if the file ends too early.
 */
const shownPlace = (text: string): CodePlace | undefined => {
  const [, named, line] = /^(.+):(\d+)\n/.exec(text) ?? [];
  const file = named === undefined ? '' : pathOf(named);
  if (!isAbsolute(file)) return undefined;
  const [, indent] = /\n( *)\^/.exec(text) ?? [];
  return indent === undefined ? [file, Number(line)] : [file, Number(line), indent.length + 1];
};

const callsIn = (stack: string): readonly (readonly [url: string, line: number, column: number])[] =>
  Array.from(stack.matchAll(/(file:\/\/\S+?):(\d+):(\d+)/g), ([, url = '', line, column]) => [
    url,
    Number(line),
    Number(column),
  ]);

/** Position of the innermost stack frame within one of these modules. */
const thrownPlace = (urls: readonly string[], stack: string): CodePlace | undefined => {
  const call = callsIn(stack).find(([url]) => urls.includes(url));
  return call && [fileURLToPath(call[0]), call[1], call[2]];
};

/**
 * Finds the position of a syntax error in JavaScript, which the error itself does not contain. The modules are parsed
 * again, one after another, without running them.
 */
const parsedPlace = async (urls: readonly string[]): Promise<CodePlace | undefined> => {
  for (const url of urls) {
    const parsing = promisify(execFile)(process.execPath, ['--check', fileURLToPath(url)]);
    const { stderr } = await parsing.catch((error) => error);
    const place = shownPlace(String(stderr));
    if (place) return place;
  }
  return undefined;
};

/** Position at which one of these modules failed to load, or undefined if it is unknown. */
export const placeOfError = async (urls: readonly string[], error: Error): Promise<CodePlace | undefined> => {
  const stack = stackOf(error);
  return (
    shownPlace(stack) ?? thrownPlace(urls, stack) ?? (error.name === 'SyntaxError' ? parsedPlace(urls) : undefined)
  );
};

/** Whether the error was thrown by one of these modules, and not by other code that they called. */
export const isThrownBy = (urls: readonly string[], error: Error, isOther: (url: string) => boolean): boolean => {
  const stack = stackOf(error);
  const [file] = shownPlace(stack) ?? [];
  if (file !== undefined) return urls.some((url) => fileURLToPath(url) === file);
  const [nearest] = callsIn(stack).find(([url]) => urls.includes(url) || isOther(url)) ?? [];
  return nearest !== undefined && urls.includes(nearest);
};
