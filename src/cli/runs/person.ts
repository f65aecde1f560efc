import { clearScreenDown, createInterface, cursorTo } from 'node:readline';
import type { Readable } from 'node:stream';

/** Whoever types. One for a process: there is one stdin. */
export interface Person {
  readonly isTerminal: boolean;
  /** What was typed, line by line; undefined at the end of the input. A later call takes the place of one that still waits. */
  nextLine(): Promise<string | undefined>;
  /** Ctrl-C while a line is being edited. */
  onInterrupt(listener: () => void): void;
  /** Called before the first key of a line for which nothing was asked. */
  onTyping(listener: () => void): void;
  prompt(text: string): void;
  /** Waits while a line is being typed, so that nothing is written into it, and takes the prompt away. */
  isSilent(): Promise<void>;
  close(): void;
}

type Input = Readable & { readonly isTTY?: boolean };

export const personAt = (input: Input, output: NodeJS.WriteStream): Person => {
  const isTerminal = Boolean(input.isTTY && output.isTTY);
  const lines = createInterface({ input, output: isTerminal ? output : undefined, terminal: isTerminal });
  const typed: (string | undefined)[] = [];
  let wanted: (() => void) | undefined;
  let waiting: (() => void)[] = [];
  let isPrompting = false;
  let onTyping: (() => void) | undefined;
  let isClosed = false;

  const isTyping = (): boolean => isTerminal && !isClosed && lines.line !== '';
  const release = (): void => {
    if (isTyping()) return;
    for (const go of waiting) go();
    waiting = [];
  };
  const hidePrompt = (): void => {
    if (isPrompting && isTerminal) {
      cursorTo(output, 0);
      clearScreenDown(output);
    }
    isPrompting = false;
  };
  const beforeKey = (_text: string, key?: { readonly ctrl?: boolean; readonly name?: string }): void => {
    if (!isPrompting && !isTyping() && !key?.ctrl && key?.name !== 'return') onTyping?.();
    setImmediate(release);
  };
  const take = (line: string | undefined): void => {
    isPrompting = false;
    typed.push(line);
    wanted?.();
    release();
  };
  lines.on('line', take);
  lines.on('close', () => {
    isClosed = true;
    take(undefined);
  });
  // A terminal that is closed cannot be read or set back any more: whoever sat there has left.
  const leave = (): void => {
    if (isClosed) return;
    isClosed = true; // closing sets it back once more
    lines.close();
  };
  if (isTerminal) {
    input.prependListener('keypress', beforeKey);
    input.on('error', leave);
    lines.on('error', leave);
  }

  return {
    isTerminal,
    nextLine: async () => {
      if (typed.length === 0) {
        await new Promise<void>((resolve) => {
          wanted = resolve;
        });
      }
      wanted = undefined;
      return typed.length > 1 || typed[0] !== undefined ? typed.shift() : undefined;
    },
    onInterrupt: (listener) => {
      lines.removeAllListeners('SIGINT').on('SIGINT', listener);
    },
    onTyping: (listener) => {
      onTyping = listener;
    },
    prompt: (text) => {
      if (isClosed || !isTerminal) return;
      lines.setPrompt(text);
      isPrompting = true;
      lines.prompt(true);
    },
    isSilent: async () => {
      if (isTyping()) await new Promise<void>((resolve) => waiting.push(resolve));
      hidePrompt();
    },
    close: () => {
      isClosed = true;
      hidePrompt();
      if (isTerminal) input.removeListener('keypress', beforeKey);
      lines.close();
    },
  };
};
