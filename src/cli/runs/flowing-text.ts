import { displayWidth, wrap } from '../terminal/display-width.ts';
import { printable } from '../terminal/printable.ts';

/**
 * Wraps text that arrives in pieces. A word is held back until it is complete, so that it can move to the next line.
 */
export class FlowingText {
  readonly #columns: number;
  #column = 0;
  #word = '';
  #spaces = '';

  constructor(columns: number) {
    this.#columns = columns;
  }

  /** Ends the current line. A word that is held back moves to the next line. */
  breakLine(): string {
    const isMidLine = this.#column > 0;
    this.#column = 0;
    this.#spaces = '';
    return isMidLine ? '\n' : '';
  }

  /** Returns the text that can be written now. */
  feed(text: string): string {
    const pieces = (this.#word + text).replaceAll('\t', '    ').split(/(\n| +)/);
    this.#word = pieces.pop() ?? '';
    return pieces.map((piece) => this.#place(piece)).join('');
  }

  /** Returns the remaining text and the end of the line. */
  end(): string {
    const rest = this.#place(this.#word);
    this.#word = '';
    return rest + this.breakLine();
  }

  #place(piece: string): string {
    if (piece === '') return '';
    if (/^ +$/.test(piece)) {
      this.#spaces += piece;
      return '';
    }
    const spaces = this.#spaces;
    this.#spaces = '';
    if (piece === '\n') {
      this.#column = 0;
      return '\n';
    }
    const word = printable(piece.replace(/\r$/, ''));
    const width = spaces.length + displayWidth(word);
    if (this.#column + width <= this.#columns) {
      this.#column += width;
      return spaces + word;
    }
    const lines = wrap(word, this.#columns);
    const breaks = this.#column > 0 ? '\n' : '';
    this.#column = displayWidth(lines.at(-1) ?? '');
    return breaks + lines.join('\n');
  }
}
