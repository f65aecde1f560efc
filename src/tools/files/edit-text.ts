import { ToolFailure } from '../../core/ports/tool.ts';
import { nearMisses } from './near-misses.ts';

export interface Edit {
  readonly old: string;
  readonly new: string;
  readonly all?: boolean | undefined;
}

const placesOf = (text: string, part: string): readonly number[] => {
  const places: number[] = [];
  for (let at = text.indexOf(part); at >= 0; at = text.indexOf(part, at + part.length)) places.push(at);
  return places;
};

/** Adapts an edit to a file with CRLF, because a model sees lines without their ends and writes line feeds. */
export const withLineEndsOf = (text: string, edit: Edit): Edit => {
  if (!text.includes('\r\n') || text.includes(edit.old)) return edit;
  const withCarriageReturns = (part: string) => part.replaceAll(/\r?\n/g, '\r\n');
  return { ...edit, old: withCarriageReturns(edit.old), new: withCarriageReturns(edit.new) };
};

const notFound = (name: string, text: string, { old }: Edit): ToolFailure => {
  const near = nearMisses(text, old);
  const hint = near.length > 0 ? ` Similar lines:\n${near.join('\n')}` : ' Read the file, and use its exact text.';
  return new ToolFailure(`the old text is not in ${name}, and nothing was changed.${hint}`);
};

const severalTimes = (name: string, text: string, places: readonly number[]): ToolFailure => {
  const lines = places.slice(0, 20).map((at) => text.slice(0, at).split('\n').length);
  const more = places.length > lines.length ? ', …' : '';
  return new ToolFailure(
    `the old text occurs ${places.length} times in ${name}, at lines ${lines.join(', ')}${more}, and nothing was changed: include more of the surrounding text, or set all: true`,
  );
};

export const editText = (
  name: string,
  text: string,
  asked: Edit,
): { readonly text: string; readonly places: number } => {
  const edit = withLineEndsOf(text, asked);
  const places = placesOf(text, edit.old);
  if (places.length === 0) throw notFound(name, text, edit);
  if (places.length > 1 && !edit.all) throw severalTimes(name, text, places);
  return { text: text.split(edit.old).join(edit.new), places: places.length };
};

/**
 * Whether the edit was already applied to this text. This also works if the new text contains the old one and only one
 * place is edited: before the edit the new text cannot occur, because the old text would have occurred twice.
 */
export const editedBefore = (text: string, asked: Edit): 'yes' | 'no' | 'unknown' => {
  const edit = withLineEndsOf(text, asked);
  const hasNew = text.includes(edit.new);
  if (!text.includes(edit.old)) return hasNew ? 'yes' : 'no';
  if (!edit.new.includes(edit.old) || !hasNew) return 'no';
  return edit.all ? 'unknown' : 'yes';
};
