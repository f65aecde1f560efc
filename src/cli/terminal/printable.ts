/**
 * Characters that a terminal would interpret or hide: control characters, line and paragraph separators,
 * bidirectional and other invisible marks. The two joiners are kept, because emoji and several scripts need them.
 */
const unsafe = /[\p{Cc}\p{Zl}\p{Zp}]|(?![\u200c\u200d])\p{Cf}/gu;
/** The same for JSON, which already escapes the first 32 control characters. */
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

/** Shows everything that is not plain text as an escape, because stored text may be hostile. */
export const printable = (text: string): string => text.replace(unsafe, visible);

/** Joins a text into one line and collapses white space. */
export const printableLine = (text: string): string => printable(text.replace(/\s+/g, ' ').trim());

/** Splits a text into printable lines, with tabs as spaces. */
export const printableLines = (text: string): readonly string[] =>
  text.replaceAll('\r\n', '\n').replaceAll('\t', '    ').split('\n').map(printable);

/** The exact value as JSON, safe on a terminal and in a pipe. */
export const printableJson = (value: unknown, indent?: number): string =>
  JSON.stringify(value, null, indent).replace(unsafeInJson, jsonEscape);
