import type { ErrorCode } from '../../schema/error.ts';
import { namesRemedy } from '../parse/remedy-text.ts';
import { parseCall } from './parse-call.ts';

const commandOf = (argv: readonly string[]): string | undefined => {
  try {
    const call = parseCall(argv);
    return call.kind === 'run' ? call.command.name : undefined;
  } catch {
    return undefined;
  }
};

/**
 * Advice to show after an error whose message contains none. For a wrong call this is its help page, otherwise the
 * remedy in the error catalogue.
 */
export const nextStep = async (
  code: ErrorCode | 'DEFECT',
  message: string,
  argv: readonly string[],
): Promise<string | undefined> => {
  if (namesRemedy(message) || code === 'DEFECT') return undefined;
  if (code === 'INVALID_INPUT') {
    const command = commandOf(argv);
    return `see \`perdure help${command ? ` ${command}` : ''}\``;
  }
  const { errorCatalog } = await import('../../schema/error-catalog.ts');
  return errorCatalog[code].remedy;
};
