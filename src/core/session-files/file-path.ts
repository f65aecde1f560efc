import { PerdureError } from '../../schema/error.ts';
import { Text } from '../../schema/json.ts';
import { parseInput } from '../../schema/parse-input.ts';
import { parsePath } from '../files/path.ts';

/** A path relative to the root of a session's files, split into segments. */
export interface FilePath {
  readonly path: string;
  readonly segments: readonly string[];
}

const refused = (path: string, problem: string): PerdureError =>
  new PerdureError('INVALID_INPUT', `${JSON.stringify(path)} ${problem}`, { details: { path } });

/** Parses the path of a folder. The path of the root has no segments. */
export const parseFolderPath = (input: unknown): FilePath => {
  const given = parseInput('the path', Text, input);
  const parsed = parsePath(given);
  if ('problem' in parsed) throw refused(given, parsed.problem);
  return { path: parsed.segments.join('/'), segments: parsed.segments };
};

export const parseFilePath = (input: unknown): FilePath => {
  const parsed = parseFolderPath(input);
  if (parsed.segments.length === 0)
    throw refused(input as string, 'does not name a file: use a path such as src/main.ts');
  return parsed;
};
