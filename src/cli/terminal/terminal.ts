import { styleText } from 'node:util';
import { fileError } from '../parse/wrong-call.ts';

export type Style = Parameters<typeof styleText>[0];

/** Where a command writes: a terminal or a pipe. */
export interface Terminal {
  readonly isTerminal: boolean;
  /** Without bound in a pipe: what is written there is for another program, whole. */
  readonly columns: number;
  /** Of a terminal where people wait: for how long a command may say nothing before it is said what it is at. */
  readonly patienceMs?: number | undefined;
  /** Returns when the stream has taken it, so that a slow reader is waited for. Fails with OutputClosed when nobody reads. */
  write(output: string | Uint8Array): Promise<void>;
  /** Colours where the stream and NO_COLOR or FORCE_COLOR allow them. */
  style(style: Style, text: string): string;
}

/** The reader has gone, as `head` does when it has enough, or whoever closed the terminal. No failure. */
export class OutputClosed extends Error {}

const isReaderGone = ({ isTTY }: NodeJS.WriteStream, { code }: NodeJS.ErrnoException): boolean =>
  code === 'EPIPE' || (isTTY && code === 'EIO');

export const terminalOf = (stream: NodeJS.WriteStream, name: string): Terminal => {
  stream.on('error', () => {}); // each write reports its own
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
