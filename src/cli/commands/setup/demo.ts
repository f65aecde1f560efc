import { z } from 'zod';
import { defineCommand, text } from '../../parse/command.ts';

export const demo = defineCommand({
  name: 'demo',
  summary: 'watch a session get killed, finished, forked, compared and verified, in under a minute',
  args: [],
  options: { in: text('FOLDER', 'a new or empty folder for it; default a temporary one') },
  notes: [
    'It needs no key and no network. A script answers, not a model; everything else is real. Each step shows the command to type and its output.',
    'It checks what it claims, and exits with 1 at the first claim that does not hold. The folder stays for you to look around.',
  ],
  examples: [
    'perdure demo  # needs a minute',
    'perdure demo --in my-demo  # needs a minute',
    'perdure demo --json  # needs a minute',
  ],
  backingOptions: [],
  json: z.strictObject({
    folder: z.string(),
    claims: z.array(z.strictObject({ name: z.string(), holds: z.boolean() })),
  }),
  run: async (context, { options: { in: folder } }) =>
    (await import('../../demo/show-demo.ts')).showDemo(context, folder),
});
