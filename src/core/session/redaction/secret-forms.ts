const escapedInJson = (text: string): string => JSON.stringify(text).slice(1, -1);

const percentEncoded = (text: string): readonly string[] => {
  const upper = encodeURIComponent(text.toWellFormed());
  const lower = upper.replace(/%[0-9A-F]{2}/g, (code) => code.toLowerCase());
  return [upper, lower, upper.replaceAll('%20', '+')];
};

const bitsOfByte = 8;
const bitsOfChar = 6;

/**
 * The forms of a secret inside the base64 of a longer text, one for each of the three byte offsets. Leaves out
 * characters that also encode neighbouring bytes.
 */
const inBase64 = (text: string): readonly string[] =>
  [0, 1, 2].flatMap((before) => {
    const bytes = Buffer.concat([Buffer.alloc(before), Buffer.from(text)]);
    const from = Math.ceil((before * bitsOfByte) / bitsOfChar);
    const to = Math.floor((bytes.length * bitsOfByte) / bitsOfChar);
    const own = bytes.toString('base64').slice(from, to);
    return [own, own.replaceAll('+', '-').replaceAll('/', '_')];
  });

const leastLineChars = 16;

/**
 * The single lines of a secret, because tools may number the lines or change line endings. Leaves out the `-----`
 * lines around a key, which are not secret.
 */
const linesOf = (text: string): readonly string[] => {
  const lines = text.split(/\r?\n/);
  return lines.length > 1 ? lines.filter((line) => line.length >= leastLineChars && !line.startsWith('-----')) : [];
};

/** The forms in which a secret occurs in texts: verbatim, escaped in JSON, percent-encoded, in base64, and by line. */
export const formsOf = (value: string, leastChars: number): readonly string[] => {
  const all = [value, escapedInJson(value), ...percentEncoded(value), ...inBase64(value), ...linesOf(value)];
  return [...new Set(all)].filter((form) => form.length >= leastChars);
};
