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

/** The last call that one of these modules made. */
const thrownPlace = (urls: readonly string[], stack: string): Place | undefined => {
  for (const [, url = '', line, column] of stack.matchAll(/(file:\/\/\S+?):(\d+):(\d+)/g)) {
    if (urls.includes(url)) return [fileURLToPath(url), Number(line), Number(column)];
  }
  return undefined;
};

/** Of JavaScript, an error of syntax does not say where it is; this parses one after another once more and runs nothing. */
const parsedPlace = async (urls: readonly string[]): Promise<Place | undefined> => {
  for (const url of urls) {
    const parsing = promisify(execFile)(process.execPath, ['--check', fileURLToPath(url)]);
    const { stderr } = await parsing.catch((error) => error);
    const place = shownPlace(String(stderr));
    if (place) return place;
  }
  return undefined;
};

/** Where one of these modules could not be loaded, as far as that can be known. */
export const placeOfError = async (urls: readonly string[], { name, stack = '' }: Error): Promise<Place | undefined> =>
  shownPlace(stack) ?? thrownPlace(urls, stack) ?? (name === 'SyntaxError' ? parsedPlace(urls) : undefined);
