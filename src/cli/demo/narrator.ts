import type { Context, Surroundings } from '../parse/command.ts';
import { shellWord } from '../render/wrap-command.ts';
import { wrap } from '../terminal/display-width.ts';
import { hangingIndent } from '../terminal/hanging-indent.ts';
import { linesText, type Terminal } from '../terminal/terminal.ts';
import { Claims } from './claims.ts';

const pipeColumns = 80;

type NarratorContext = Pick<Context, 'out' | 'json' | 'call'>;

/** A shell variable that stands for a longer value. */
export interface Variable {
  readonly name: string;
  readonly value: string;
}
export type Word = string | Variable;

const shown = (word: Word): string => (typeof word === 'string' ? shellWord(word) : `$${word.name}`);
const meant = (word: Word): string => (typeof word === 'string' ? word : word.value);

const silent = (heard: (text: string) => void): Terminal => ({
  isTerminal: false,
  columns: Number.POSITIVE_INFINITY,
  write: async (output) => heard(String(output)),
  style: (_, text) => text,
});

/** Narrates on stdout: each command as a person would type it, and the actual output of that command. */
export class Narrator {
  readonly claims = new Claims();
  readonly #context: NarratorContext;
  readonly #surroundings: Partial<Surroundings>;
  /** Formatted for people, even in a pipe. */
  readonly #terminal: Terminal;
  #steps = 0;

  constructor(context: NarratorContext, surroundings: Partial<Surroundings>) {
    const { out, json } = context;
    this.#context = context;
    this.#surroundings = surroundings;
    this.#terminal = json
      ? silent(() => {})
      : {
          isTerminal: true,
          columns: out.isTerminal ? out.columns : pipeColumns,
          write: out.write,
          style: out.style,
        };
  }

  /** Writes wrapped prose. */
  say(...lines: readonly string[]): Promise<void> {
    return this.show(...lines.flatMap((line) => wrap(line, this.#terminal.columns)));
  }

  /** Writes lines unwrapped, so that they can be copied. */
  show(...lines: readonly string[]): Promise<void> {
    return this.#terminal.write(linesText(lines));
  }

  step(title: string): Promise<void> {
    this.#steps += 1;
    const { style, columns } = this.#terminal;
    const lines = hangingIndent(`${this.#steps}. `, title, columns);
    return this.show('', ...lines.map((line) => style(['bold', 'cyan'], line)));
  }

  typed(line: string): Promise<void> {
    return this.show(`${this.#terminal.style('dim', '$')} ${this.#terminal.style('bold', line)}`);
  }

  async claim(name: string, holds: boolean): Promise<void> {
    this.claims.check(name, holds);
    const { style, columns } = this.#terminal;
    await this.show(...hangingIndent('✓ ', name, columns, `${style('green', '✓')} `));
  }

  /** Shows a command, runs it, and shows its output as it arrives. */
  async type(...words: readonly Word[]): Promise<void> {
    await this.typed(['perdure', ...words.map(shown)].join(' '));
    await this.#run(words, this.#terminal);
  }

  /** Shows and runs a command, and keeps its answer in a shell variable. */
  async keep(name: string, ...words: readonly Word[]): Promise<Variable> {
    await this.typed(`${name}=$(${['perdure', ...words.map(shown)].join(' ')})`);
    let answer = '';
    await this.#run(
      words,
      silent((text) => {
        answer += text;
      }),
      this.#terminal,
    );
    return { name, value: answer.trim() };
  }

  /** Runs a command silently, to check a claim. */
  async ask<T>(...words: readonly Word[]): Promise<readonly T[]> {
    let answer = '';
    await this.#run(
      [...words, '--json'],
      silent((text) => {
        answer += text;
      }),
    );
    return answer.split('\n').flatMap((line) => (line === '' ? [] : [JSON.parse(line) as T]));
  }

  /** `notes` shows what the command writes to stderr. */
  async #run(words: readonly Word[], terminal: Terminal, notes = terminal): Promise<void> {
    const code = await this.#context.call(words.map(meant), {
      ...this.#surroundings,
      out: terminal,
      err: { ...notes, isTerminal: notes.isTerminal && this.#context.out.isTerminal },
    });
    if (code !== 0) this.claims.check(`\`perdure ${words.map(shown).join(' ')}\` ends with 0, not ${code}`, false);
  }
}
