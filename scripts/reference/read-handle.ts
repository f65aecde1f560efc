import { plainComment } from './read-interface.ts';

/** A method of a handle, or another handle that it has, as its source has it. */
export interface HandleMember {
  readonly name: string;
  /** As it is called: `fork(options?: ForkOptions): Promise<Session>`. */
  readonly signature: string;
  readonly isMethod: boolean;
  readonly about: string;
  /** The heading that it stands under, where the interface has any. */
  readonly topic?: string | undefined;
}

const topicForm = /\n? {2}\/\/ (.+)\n\n/y;

const memberForm = /(?: {2}\/\*\*((?:(?!\*\/)[\s\S])*)\*\/\n)? {2}(readonly )?(\w+)([\s\S]*?);\n(?=\n? {2}[\w/]|\})/y;

/** As people write it. What is optional need not say that it may be undefined; what is given back does. */
const plainSignature = (text: string): string =>
  text
    .replace(/\breadonly /g, '')
    .replace(/(\?: [^;,)}]*?) \| undefined\b/g, '$1')
    .replace(/z\.input<typeof (\w+)>/g, '$1')
    .replace(/\s+/g, ' ')
    .replace(/\( /g, '(')
    .replace(/,? \)/g, ')')
    .replace(/AsyncGenerator<(.+), void, void>/, 'AsyncGenerator<$1>');

/** Reads what the formatter has laid out. A method without a comment is refused. */
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
    if (!found) throw new Error(`${name} has something behind ${members.at(-1)?.name} that is not understood`);
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
