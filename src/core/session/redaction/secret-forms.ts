const escapedInJson = (text: string): string => JSON.stringify(text).slice(1, -1);

const percentEncoded = (text: string): readonly string[] => {
  const upper = encodeURIComponent(text.toWellFormed());
  const lower = upper.replace(/%[0-9A-F]{2}/g, (code) => code.toLowerCase());
  return [upper, lower, upper.replaceAll('%20', '+')];
};

const bitsOfByte = 8;
const bitsOfChar = 6;

/** As it is seen within the base64 of a longer text, which it may begin in at any of three places: without what its neighbours have a part in. */
const inBase64 = (text: string): readonly string[] =>
  [0, 1, 2].flatMap((before) => {
    const bytes = Buffer.concat([Buffer.alloc(before), Buffer.from(text)]);
    const from = Math.ceil((before * bitsOfByte) / bitsOfChar);
    const to = Math.floor((bytes.length * bitsOfByte) / bitsOfChar);
    const own = bytes.toString('base64').slice(from, to);
    return [own, own.replaceAll('+', '-').replaceAll('/', '_')];
  });

const leastLineChars = 16;

/** Tools number lines, or end them otherwise. The frame around a key is not secret. */
const linesOf = (text: string): readonly string[] => {
  const lines = text.split(/\r?\n/);
  return lines.length > 1 ? lines.filter((line) => line.length >= leastLineChars && !line.startsWith('-----')) : [];
};

/** What a secret looks like in texts: as it is, in a JSON text, in an address, in base64; of several lines each. */
export const formsOf = (value: string, leastChars: number): readonly string[] => {
  const all = [value, escapedInJson(value), ...percentEncoded(value), ...inBase64(value), ...linesOf(value)];
  return [...new Set(all)].filter((form) => form.length >= leastChars);
};
