import type { ErrorCode } from '../schema/error.ts';
import { parseCall } from './parse-call.ts';

/** What a message may ask for after its colon. */
const imperatives =
  'add|adopt|ask|bind|cancel|check|choose|claim|close|commit|convert|copy|enable|export|give|import|install|keep|leave|look|make|mend|move|name|open|pass|pause|put|quote|read|remove|reopen|repeat|restore|resume|revert|run|see|send|set|start|stop|take|try|upgrade|use|write';
/** A message that names a command or an option, or asks for something, says itself what to do. */
const saysWhatToDo = new RegExp(`\`[^\`]+\`|(?:^|\\s)--?\\w|[:;,] (?:then |or )?(?:${imperatives})\\b`);

const commandOf = (argv: readonly string[]): string | undefined => {
  try {
    const call = parseCall(argv);
    return call.kind === 'run' ? call.command.name : undefined;
  } catch {
    return undefined;
  }
};

/** What to do after an error whose message does not say it: for a wrong call where its help is, else what the catalogue of errors advises. */
export const nextStep = async (
  code: ErrorCode | 'DEFECT',
  message: string,
  argv: readonly string[],
): Promise<string | undefined> => {
  if (saysWhatToDo.test(message) || code === 'DEFECT') return undefined;
  if (code === 'INVALID_INPUT') {
    const command = commandOf(argv);
    return `see \`perdure help${command ? ` ${command}` : ''}\``;
  }
  const { errorCatalog } = await import('../schema/error-catalog.ts');
  return errorCatalog[code].remedy;
};
