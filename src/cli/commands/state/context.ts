import { ContextView } from '../../../schema/views/session.ts';
import { defineCommand, text } from '../../parse/command.ts';
import { optionalPoint, parseCount } from '../../parse/point.ts';
import { count } from '../../render/quantity.ts';
import { renderMessages } from '../../render/render-transcript.ts';
import { hangingIndent } from '../../terminal/hanging-indent.ts';
import { printableLine } from '../../terminal/printable.ts';

export const context = defineCommand({
  name: 'context',
  summary: 'show the context that a model would get next',
  args: ['SESSION'],
  options: {
    at: text('POINT', 'as it was at turn:3 (or just 3), seq:17, or turn:5#1 for an attempt'),
    'max-tokens': text('N', 'at most about N tokens'),
  },
  examples: [
    'perdure context ses_…',
    'perdure context ses_… --at turn:3',
    'perdure context ses_… --max-tokens 4000 --json',
  ],
  json: ContextView,
  run: async (context, { args: [named], options }) => {
    const at = optionalPoint(options.at);
    const maxTokens = parseCount('--max-tokens', options['max-tokens'], 1);
    const found = await (await context.session(named!)).context({ at, maxTokens });
    const system = { role: 'system', content: [{ type: 'text', text: found.system }] } as const;
    await context.answer(found, () => [
      context.out.style('dim', `about ${count(found.tokens, 'token')}, from event ${found.from}`),
      ...renderMessages([...(found.system ? [system] : []), ...found.messages], context.out),
      ...(found.evicted.length > 0 ? [context.out.style('bold', 'left out; can be recalled by key')] : []),
      ...found.evicted.flatMap(({ key }) => hangingIndent('  ', printableLine(key), context.out.columns)),
    ]);
  },
});
