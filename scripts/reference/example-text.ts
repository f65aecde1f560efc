const width = 96;

const partsOf = (value: object, textOf: (part: unknown) => string): readonly string[] =>
  Array.isArray(value)
    ? value.map(textOf)
    : Object.entries(value).map(([name, part]) => `${JSON.stringify(name)}: ${textOf(part)}`);

const lineOf = (value: unknown): string => {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const parts = partsOf(value, lineOf).join(', ');
  if (Array.isArray(value)) return `[${parts}]`;
  return parts === '' ? '{}' : `{ ${parts} }`;
};

/** JSON with each short value on one line. */
export const exampleText = (value: unknown, indent = ''): string => {
  const line = lineOf(value);
  if (typeof value !== 'object' || value === null || indent.length + line.length <= width) return line;
  const inner = `${indent}  `;
  const parts = partsOf(value, (part) => exampleText(part, inner)).map((part) => inner + part);
  return [line[0], parts.join(',\n'), indent + line.at(-1)].join('\n');
};
