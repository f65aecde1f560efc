import { clearScreenDown, createInterface, cursorTo } from 'node:readline';
import type { Readable } from 'node:stream';

/** The person who types, or a pipe in place of a person. There is one per process, because there is one stdin. */
export interface Person {
  readonly isTerminal: boolean;
  /** Returns the next typed line, or undefined at the end of the input. A later call replaces one that still waits. */
  nextLine(): Promise<string | undefined>;
  /** Registers a listener for Ctrl-C while a line is being edited. */
  onInterrupt(listener: () => void): void;
  /** Registers a listener that is called before the first key of a line without a prompt. */
  onTyping(listener: () => void): void;
  prompt(text: string): void;
  /** Resolves when no line is being typed, so that output does not interrupt one. Removes the prompt. */
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
  // A closed terminal can no longer be read or reset, so the person is treated as having left.
  const leave = (): void => {
    if (isClosed) return;
    isClosed = true; // set first, because closing resets the terminal too and can fail in turn
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
