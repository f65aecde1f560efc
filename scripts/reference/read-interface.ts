/** A member of an interface, as its source has it. */
export interface Member {
  readonly name: string;
  readonly isOptional: boolean;
  readonly type: string;
  readonly about: string;
}

const memberForm = /(?: {2}\/\*\*((?:(?!\*\/)[\s\S])*)\*\/\n)? {2}readonly (\w+)(\??): ([\s\S]*?);\n/y;

export const plainComment = (comment: string): string =>
  comment
    .replace(/^\s*\* ?/gm, '')
    .replace(/\s+/g, ' ')
    .trim();

/** Reads what the formatter has laid out: one member after another, each with its comment. One without a comment is refused. */
export const readInterface = (source: string, name: string): readonly Member[] => {
  const start = new RegExp(`^export interface ${name}\\b[^{]*\\{\\n`, 'm').exec(source);
  if (!start) throw new Error(`there is no interface ${name}`);
  const body = source.slice(start.index + start[0].length);
  const members: Member[] = [];
  for (memberForm.lastIndex = 0; body[memberForm.lastIndex] !== '}'; ) {
    const [, about, member = '', mark, type = ''] = memberForm.exec(body) ?? [];
    if (about === undefined)
      throw new Error(`${name}.${member || members.at(-1)?.name} needs a comment that says what it is for`);
    members.push({
      name: member,
      isOptional: mark === '?',
      type: type
        .replace(/\breadonly /g, '')
        .replace(/ \| undefined\b/g, '')
        .replace(/^\((.*)\)$/s, '$1')
        .replace(/\bReadonly<(Record<.*>)>/g, '$1')
        .replace(/\s+/g, ' '),
      about: plainComment(about),
    });
  }
  return members;
};
