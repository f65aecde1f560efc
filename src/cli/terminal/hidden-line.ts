import { createInterface } from 'node:readline';
import { type Readable, Writable } from 'node:stream';

/** Reads a line without echoing it. Undefined when the input ends or is interrupted before the line is complete. */
export const readHiddenLine = async (
  input: Readable,
  output: Writable,
  prompt: string,
): Promise<string | undefined> => {
  const unseen = new Writable({ write: (_chunk, _encoding, done) => done() });
  const lines = createInterface({ input, output: unseen, terminal: true, historySize: 0 });
  output.write(prompt);
  try {
    return await new Promise((resolve) => {
      lines.once('line', resolve);
      lines.once('close', () => resolve(undefined));
      lines.once('SIGINT', () => lines.close());
    });
  } finally {
    lines.close();
    output.write('\n');
  }
};
