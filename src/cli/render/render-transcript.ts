import type { TranscriptEntry } from '../../core/context/transcript.ts';
import type { BrokenOff, Message } from '../../schema/message.ts';
import { truncate, wrap } from '../terminal/display-width.ts';
import { roleStyle } from '../terminal/paint.ts';
import { printableLine, printableLines } from '../terminal/printable.ts';
import type { Terminal } from '../terminal/terminal.ts';
import { localDay, localTime } from './time.ts';

type Part = Message['content'][number];

const indent = '  ';
/** Prose wider than this is hard to read. */
const maxProse = 100;
const maxShortLine = 200;

const brokenOffTexts: Readonly<Record<BrokenOff, string>> = {
  cancelled: 'the run was cancelled',
  stopped: 'its worker stopped',
  failed: 'the model failed',
};

const base64Bytes = (data: string): number => Math.floor((data.length * 3) / 4) - (/=*$/.exec(data)?.[0].length ?? 0);

const paragraph = (text: string, out: Terminal): readonly string[] => {
  const width = out.isTerminal ? Math.max(20, Math.min(out.columns, maxProse) - indent.length) : out.columns;
  return printableLines(text).flatMap((line) => wrap(line, width));
};

const shortLine = (text: string, out: Terminal): string =>
  truncate(printableLine(text), Math.max(20, Math.min(out.columns, maxShortLine) - indent.length));

/** The lines of one part: text in full, everything else on one short line. */
const partLines = (part: Part, out: Terminal): readonly string[] => {
  switch (part.type) {
    case 'text':
      return paragraph(part.text, out);
    case 'reasoning':
      return ['reasoning:', ...paragraph(part.text, out).map((line) => indent + line)].map((line) =>
        out.style(['dim', 'italic'], line),
      );
    case 'file': {
      const size = `${base64Bytes(part.data)} bytes`;
      return [out.style('dim', shortLine(`[file ${part.name ?? ''} ${part.mediaType}, ${size}]`, out))];
    }
    case 'tool-call':
      return [out.style('yellow', shortLine(`→ ${part.tool} ${JSON.stringify(part.input)}`, out))];
    case 'tool-result': {
      const line = shortLine(`← ${part.tool} ${part.outcome} ${JSON.stringify(part.output)}`, out);
      return [out.style(part.outcome === 'ok' ? 'dim' : 'red', line)];
    }
  }
};

const turnLine = ({ turn, at }: TranscriptEntry, out: Terminal): readonly string[] => [
  '',
  out.style('dim', `── turn ${turn} · ${localDay(at)} ${localTime(at)} ──`),
];

interface Shown {
  readonly role: Message['role'];
  readonly content: readonly Part[];
}

const messageLines = ({ role, content }: Shown, out: Terminal, note = ''): readonly string[] => [
  out.style(roleStyle[role], role) + note,
  ...content.flatMap((part: Part) => partLines(part, out)).map((line) => (indent + line).trimEnd()),
];

/** Messages without their turns, as a model gets them. */
export const renderMessages = (messages: readonly Shown[], out: Terminal): readonly string[] =>
  messages.flatMap((message) => messageLines(message, out));

const brokenOffNote = ({ brokenOff, omittedChars }: TranscriptEntry, out: Terminal): string => {
  if (!brokenOff) return '';
  const left = omittedChars ? `, ${omittedChars} characters left out` : '';
  return out.style('yellow', ` (broken off: ${brokenOffTexts[brokenOff]}${left})`);
};

export const renderTranscript = (entries: readonly TranscriptEntry[], out: Terminal): readonly string[] =>
  entries.flatMap((entry, index) => {
    const newTurn = entry.turn !== entries[index - 1]?.turn;
    return [...(newTurn ? turnLine(entry, out) : []), ...messageLines(entry.message, out, brokenOffNote(entry, out))];
  });
