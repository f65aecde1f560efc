/**
 * What a terminal would obey or hide: control characters, line and paragraph separators, bidirectional and other invisible marks.
 * The two joiners stay: emoji and several scripts need them.
 */
const unsafe = /[\p{Cc}\p{Zl}\p{Zp}]|(?![\u200c\u200d])\p{Cf}/gu;
/** JSON has escaped the first 32 already. */
const unsafeInJson = /[\u007f-\u009f\u2028\u2029]|(?![\u200c\u200d])\p{Cf}/gu;

const visible = (character: string): string => {
  const code = character.codePointAt(0)!.toString(16);
  return code.length > 2 ? `\\u{${code}}` : `\\x${code.padStart(2, '0')}`;
};

const jsonEscape = (character: string): string =>
  Array.from({ length: character.length }, (_, index) => {
    const unit = character.charCodeAt(index).toString(16);
    return `\\u${unit.padStart(4, '0')}`;
  }).join('');

/** Stored text may be hostile: everything in it that is not plain text is shown as an escape. */
export const printable = (text: string): string => text.replace(unsafe, visible);

/** On one line, runs of white space as one space. */
export const printableLine = (text: string): string => printable(text.replace(/\s+/g, ' ').trim());

/** Line by line, tabs as spaces. */
export const printableLines = (text: string): readonly string[] =>
  text.replaceAll('\r\n', '\n').replaceAll('\t', '    ').split('\n').map(printable);

/** The exact value, in a form that is as safe on a terminal as in a pipe. */
export const printableJson = (value: unknown, indent?: number): string =>
  JSON.stringify(value, null, indent).replace(unsafeInJson, jsonEscape);
