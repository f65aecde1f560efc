/** A member of an interface, as read from its source. */
export interface Member {
  readonly name: string;
  readonly isOptional: boolean;
  /** A method is written as a function: `(input: Input) => Output`. */
  readonly type: string;
  readonly about: string;
}

/**
 * Matches a member. Code inside a member is indented further, so a member ends at the next member, its comment, or
 * the end of the interface.
 */
const memberForm =
  /(?: {2}\/\*\*((?:(?!\*\/)[\s\S])*)\*\/\n)? {2}(?:readonly )?(\w+)(\??)(: |\()([\s\S]*?);\n(?= {2}[\w/]|\})/y;

export const plainComment = (comment: string): string =>
  comment
    .replace(/^\s*\* ?/gm, '')
    .replace(/\s+/g, ' ')
    .trim();

const asFunction = (rest: string): string => `(${rest}`.replace(/^(\([\s\S]*\)): /, '$1 => ');

/** Returns the type on one line, as a person would write it. */
const plainType = (type: string): string =>
  type
    .replace(/\breadonly /g, '')
    .replace(/ \| undefined\b/g, '')
    .replace(/^\((.*)\)$/s, '$1')
    .replace(/\bReadonly<(Record<.*>)>/g, '$1')
    .replace(/\bReadonly<(Record<\w+, \w+>)>/g, '$1')
    .replace(/\bNoInfer<(\w+)>/g, '$1')
    .replace(/\bExtract<\w+, ([^<>]*)>/g, '$1')
    .replace(/\s+/g, ' ')
    .replace(/^\| /, '')
    .replace(/\( /g, '(')
    .replace(/,? \)/g, ')')
    .replace(/; \}/g, ' }');

/** The right-hand side of `type Name = …;`. */
export const readAlias = (source: string, name: string): string => {
  const found = new RegExp(`^(?:export )?type ${name}\\b(?:<.*?>)? =\\s([\\s\\S]*?);\\n`, 'm').exec(source);
  if (!found) throw new Error(`there is no type ${name}`);
  return plainType(found[1]!.trim());
};

/** Reads an interface from formatted source, one member after another. Rejects a member without a comment. */
export const readInterface = (source: string, name: string): readonly Member[] => {
  const start = new RegExp(`^export interface ${name}\\b[^{]*\\{\\n`, 'm').exec(source);
  if (!start) throw new Error(`there is no interface ${name}`);
  const body = source.slice(start.index + start[0].length);
  const members: Member[] = [];
  for (memberForm.lastIndex = 0; body[memberForm.lastIndex] !== '}'; ) {
    const [, about, member = '', mark, begin, rest = ''] = memberForm.exec(body) ?? [];
    if (about === undefined)
      throw new Error(`${name}.${member || members.at(-1)?.name} needs a comment that says what it is for`);
    members.push({
      name: member,
      isOptional: mark === '?',
      type: plainType(begin === '(' ? asFunction(rest) : rest),
      about: plainComment(about),
    });
  }
  return members;
};
