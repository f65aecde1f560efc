import { PerdureError } from '../../schema/error.ts';
import { Text } from '../../schema/json.ts';
import { parseInput } from '../../schema/parse-input.ts';
import { parsePath } from '../files/path.ts';

/** A path from the top of a session's files, taken apart. */
export interface FilePath {
  readonly path: string;
  readonly segments: readonly string[];
}

const refused = (path: string, problem: string): PerdureError =>
  new PerdureError('INVALID_INPUT', `${JSON.stringify(path)} ${problem}`, { details: { path } });

/** Of a folder, or of all files: then it has no segments. */
export const parseFolderPath = (input: unknown): FilePath => {
  const given = parseInput('the path', Text, input);
  const parsed = parsePath(given);
  if ('problem' in parsed) throw refused(given, parsed.problem);
  return { path: parsed.segments.join('/'), segments: parsed.segments };
};

export const parseFilePath = (input: unknown): FilePath => {
  const parsed = parseFolderPath(input);
  if (parsed.segments.length === 0) throw refused(input as string, 'names no file: give a path such as src/main.ts');
  return parsed;
};
