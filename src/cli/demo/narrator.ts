import type { Context, Surroundings } from '../parse/command.ts';
import { shellWord } from '../render/wrap-command.ts';
import { wrap } from '../terminal/display-width.ts';
import { hangingIndent } from '../terminal/hanging-indent.ts';
import { linesText, type Terminal } from '../terminal/terminal.ts';
import { Claims } from './claims.ts';

const pipeColumns = 80;

type Told = Pick<Context, 'out' | 'json' | 'call'>;

/** A word that the shell puts in place of a longer one. */
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

/** Tells the story on stdout: each command as a person types it, and what that very command writes. */
export class Narrator {
  readonly claims = new Claims();
  readonly #context: Told;
  readonly #surroundings: Partial<Surroundings>;
  /** Laid out for people, also in a pipe. */
  readonly #terminal: Terminal;
  #steps = 0;

  constructor(context: Told, surroundings: Partial<Surroundings>) {
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

  /** Prose, wrapped. */
  say(...lines: readonly string[]): Promise<void> {
    return this.show(...lines.flatMap((line) => wrap(line, this.#terminal.columns)));
  }

  /** Lines that stay whole, so that they can be copied. */
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

  /** Types a command of ours, runs it, and shows what it writes as it comes. */
  async type(...words: readonly Word[]): Promise<void> {
    await this.typed(['perdure', ...words.map(shown)].join(' '));
    await this.#run(words, this.#terminal);
  }

  /** The same where the shell keeps the answer in a variable. */
  async keep(name: string, ...words: readonly Word[]): Promise<Variable> {
    await this.typed(`${name}=$(${['perdure', ...words.map(shown)].join(' ')})`);
    let answer = '';
    await this.#run(
      words,
      silent((text) => {
        answer += text;
      }),
    );
    return { name, value: answer.trim() };
  }

  /** Asks without telling, for what is claimed. */
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

  async #run(words: readonly Word[], terminal: Terminal): Promise<void> {
    const code = await this.#context.call(words.map(meant), {
      ...this.#surroundings,
      out: terminal,
      err: { ...terminal, isTerminal: terminal.isTerminal && this.#context.out.isTerminal },
    });
    if (code !== 0) this.claims.check(`\`perdure ${words.map(shown).join(' ')}\` ends with 0, not ${code}`, false);
  }
}
