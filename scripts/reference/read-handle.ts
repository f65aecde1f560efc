import { plainComment } from './read-interface.ts';

/** A method or property of a handle, as read from its source. */
export interface HandleMember {
  readonly name: string;
  /** The signature as it is called: `fork(options?: ForkOptions): Promise<Session>`. */
  readonly signature: string;
  readonly isMethod: boolean;
  readonly about: string;
  /** The heading above the member, if the interface has headings. */
  readonly topic?: string | undefined;
}

const topicForm = /\n? {2}\/\/ (.+)\n\n/y;

const memberForm = /(?: {2}\/\*\*((?:(?!\*\/)[\s\S])*)\*\/\n)? {2}(readonly )?(\w+)([\s\S]*?);\n(?=\n? {2}[\w/]|\})/y;

/**
 * Simplifies a signature for readers: `| undefined` is removed from optional parameters, but not from return types.
 */
const plainSignature = (text: string): string =>
  text
    .replace(/\breadonly /g, '')
    .replace(/(\?: [^;,)}]*?) \| undefined\b/g, '$1')
    .replace(/z\.input<typeof (\w+)>/g, '$1')
    .replace(/\s+/g, ' ')
    .replace(/\( /g, '(')
    .replace(/,? \)/g, ')')
    .replace(/AsyncGenerator<(.+), void, void>/, 'AsyncGenerator<$1>');

/** Reads a handle from formatted source. Rejects a method without a comment. */
export const readHandle = (source: string, name: string): readonly HandleMember[] => {
  const start = new RegExp(`^export interface ${name}\\b[^{]*\\{\\n`, 'm').exec(source);
  if (!start) throw new Error(`there is no interface ${name}`);
  const body = source.slice(start.index + start[0].length);
  const members: HandleMember[] = [];
  let topic: string | undefined;
  for (memberForm.lastIndex = 0; body[memberForm.lastIndex] !== '}'; ) {
    topicForm.lastIndex = memberForm.lastIndex;
    const heading = topicForm.exec(body);
    if (heading) [topic, memberForm.lastIndex] = [heading[1], topicForm.lastIndex];
    const found = memberForm.exec(body);
    if (!found)
      throw new Error(`${name} has an unreadable member after ${members.at(-1)?.name}; keep the formatter's layout`);
    const [, about, isProperty, member = '', rest = ''] = found;
    if (!isProperty && about === undefined) throw new Error(`${name}.${member} needs a comment that says what it does`);
    members.push({
      name: member,
      signature: plainSignature(`${member}${rest}`),
      isMethod: !isProperty,
      about: plainComment(about ?? ''),
      ...(topic !== undefined && { topic }),
    });
  }
  return members;
};
