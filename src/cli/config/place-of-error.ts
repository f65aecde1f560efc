import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

/** A file, the line and the column, both from 1. */
type Place = readonly [file: string, line: number, column: number];

const pathOf = (named: string): string => (named.startsWith('file:') ? fileURLToPath(named) : named);

/** What Node writes above an error of syntax: the file and the line, some of its text, and a mark below the column. */
const shownPlace = (text: string): Place | undefined => {
  const [, file, line, indent] = /^(.+):(\d+)\n(?:.*\n)*?( *)\^/.exec(text) ?? [];
  return file === undefined ? undefined : [pathOf(file), Number(line), indent!.length + 1];
};

/** The first call that the module itself made. */
const thrownPlace = (url: string, stack: string): Place | undefined => {
  const [, line, column] = stack.split(`${url}:`)[1]?.match(/^(\d+):(\d+)/) ?? [];
  return line === undefined ? undefined : [fileURLToPath(url), Number(line), Number(column)];
};

/** Of JavaScript, an error of syntax does not say where it is; this parses it once more and runs nothing. */
const parsedPlace = async (file: string): Promise<Place | undefined> => {
  const { stderr } = await promisify(execFile)(process.execPath, ['--check', file]).catch((error) => error);
  return shownPlace(String(stderr));
};

/** Where a module could not be loaded, as far as that can be known. */
export const placeOfError = async (url: string, { name, stack = '' }: Error): Promise<Place | undefined> =>
  shownPlace(stack) ??
  thrownPlace(url, stack) ??
  (name === 'SyntaxError' ? parsedPlace(fileURLToPath(url)) : undefined);
