import { styleText } from 'node:util';
import { fileError } from '../parse/wrong-call.ts';

export type Style = Parameters<typeof styleText>[0];

/** Output of a command: a terminal or a pipe. */
export interface Terminal {
  readonly isTerminal: boolean;
  /** Width of the terminal. Infinite in a pipe, so that programs get the full text. */
  readonly columns: number;
  /** On a terminal: how long a command may write nothing before its progress is shown. */
  readonly patienceMs?: number | undefined;
  /**
   * Resolves when the stream accepts more output, which applies back-pressure. Fails with OutputClosed when the
   * reader has closed the pipe.
   */
  write(output: string | Uint8Array): Promise<void>;
  /** Adds colours where the stream, NO_COLOR and FORCE_COLOR allow them. */
  style(style: Style, text: string): string;
}

/** The reader has closed the output: `head` has read enough, or the terminal was closed. This is not a failure. */
export class OutputClosed extends Error {}

const isReaderGone = ({ isTTY }: NodeJS.WriteStream, { code }: NodeJS.ErrnoException): boolean =>
  code === 'EPIPE' || (isTTY && code === 'EIO');

export const terminalOf = (stream: NodeJS.WriteStream, name: string): Terminal => {
  stream.on('error', () => {}); // each write reports its own error
  return {
    isTerminal: Boolean(stream.isTTY),
    patienceMs: stream.isTTY ? 1000 : undefined,
    get columns() {
      return stream.isTTY ? stream.columns || 80 : Number.POSITIVE_INFINITY;
    },
    write: (output) =>
      new Promise((resolve, reject) => {
        stream.write(output, (error) => {
          if (!error) resolve();
          else reject(isReaderGone(stream, error) ? new OutputClosed() : fileError(error, 'write', name));
        });
      }),
    style: (style, text) => styleText(style, text, { stream }),
  };
};

export const linesText = (lines: readonly string[]): string => lines.map((line) => `${line}\n`).join('');
