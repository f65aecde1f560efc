import { z } from 'zod';
import { type ParsedCall, parseCall } from '../../../src/cli/dispatch/parse-call.ts';
import { exitCodes } from '../../../src/cli/parse/exit-codes.ts';

const callOf = (argv: readonly string[]): ParsedCall | undefined => {
  try {
    return parseCall(argv);
  } catch {
    return undefined;
  }
};

/** Checks that the `--json` output of a command has the shape that the command declares. */
export const checkJson = (argv: readonly string[], { code, out }: { code: number | null; out: string }): void => {
  const call = callOf(argv);
  if (call?.kind !== 'run' || !call.options.json) return;
  const { name, json, jsonLines } = call.command;
  const lines = out.split('\n').slice(0, -1);
  if (!jsonLines && (lines.length > 1 || (lines.length === 0 && code === exitCodes.success))) {
    throw new Error(`${name} --json wrote ${lines.length} lines and exited with ${code}`);
  }
  for (const line of lines) {
    const parsed = json.safeParse(JSON.parse(line));
    if (!parsed.success) throw new Error(`${name} --json wrote ${line}\n${z.prettifyError(parsed.error)}`);
  }
};
