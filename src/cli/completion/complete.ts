import { z } from 'zod';
import type { Named } from '../names/find-id.ts';
import { defineCommand } from '../parse/command.ts';
import { parseOneOf } from '../parse/one-of.ts';
import { type Listing, listings } from '../render/listings.ts';
import { printableLine } from '../terminal/printable.ts';
import { linesText } from '../terminal/terminal.ts';

/** Lists completion candidates. It is called by the scripts of `completion`, which hide its errors. */
export const complete = defineCommand({
  name: 'complete',
  summary: 'list what a word can be, for a shell',
  args: ['LISTING', '[SESSION]'],
  options: {},
  examples: ['perdure complete sessions'],
  needsNoAgents: true,
  json: z.strictObject({
    candidates: z.array(z.strictObject({ id: z.string(), about: z.string().optional() })),
  }),
  run: async (context, { args: [named, session] }) => {
    const list: (typeof listings)['turns'] =
      listings[parseOneOf('LISTING', Object.keys(listings) as Listing[], named!)];
    const found: readonly Named[] = await list(context, session);
    if (context.json) return void (await context.answer({ candidates: found }, () => []));
    const lines = found.map(({ id, about = '' }) => `${printableLine(id)}\t${printableLine(about)}`);
    await context.out.write(linesText(lines));
  },
});
