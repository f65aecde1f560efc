import { execFile } from 'node:child_process';
import { isAbsolute } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { stackOf } from '../parse/thrown-text.ts';

/** A file, the line and, where it is known, the column, both from 1. */
type CodePlace = readonly [file: string, line: number, column?: number];

const pathOf = (named: string): string => (named.startsWith('file:') ? fileURLToPath(named) : named);

/** What Node writes above an error of syntax: the file and the line, some of its text, and, unless it ends too early, a mark below the column. */
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

/** The last call that one of these modules made. */
const thrownPlace = (urls: readonly string[], stack: string): CodePlace | undefined => {
  const call = callsIn(stack).find(([url]) => urls.includes(url));
  return call && [fileURLToPath(call[0]), call[1], call[2]];
};

/** Of JavaScript, an error of syntax does not say where it is; this parses one after another once more and runs nothing. */
const parsedPlace = async (urls: readonly string[]): Promise<CodePlace | undefined> => {
  for (const url of urls) {
    const parsing = promisify(execFile)(process.execPath, ['--check', fileURLToPath(url)]);
    const { stderr } = await parsing.catch((error) => error);
    const place = shownPlace(String(stderr));
    if (place) return place;
  }
  return undefined;
};

/** Where one of these modules could not be loaded, as far as that can be known. */
export const placeOfError = async (urls: readonly string[], error: Error): Promise<CodePlace | undefined> => {
  const stack = stackOf(error);
  return (
    shownPlace(stack) ?? thrownPlace(urls, stack) ?? (error.name === 'SyntaxError' ? parsedPlace(urls) : undefined)
  );
};

/** Whether one of these modules is at fault, and not others that it has called. */
export const isThrownBy = (urls: readonly string[], error: Error, isOther: (url: string) => boolean): boolean => {
  const stack = stackOf(error);
  const [file] = shownPlace(stack) ?? [];
  if (file !== undefined) return urls.some((url) => fileURLToPath(url) === file);
  const [nearest] = callsIn(stack).find(([url]) => urls.includes(url) || isOther(url)) ?? [];
  return nearest !== undefined && urls.includes(nearest);
};
