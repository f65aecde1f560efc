import { z } from 'zod';
import { SessionId } from '../../../schema/ids.ts';
import { defineCommand, flag, text } from '../../parse/command.ts';
import { wrongCall } from '../../parse/wrong-call.ts';
import { count } from '../../render/quantity.ts';
import { printableLine } from '../../terminal/printable.ts';
import { withProgress } from '../../terminal/progress.ts';
import { refuseToOverwrite, writeOutput } from '../../terminal/write-output.ts';

export const exportCommand = defineCommand({
  name: 'export',
  summary: 'write sessions, with the lineage they need, into one portable file',
  args: ['SESSION…'],
  options: {
    output: text('FILE', 'where to write; - is stdout. Default stdout in a pipe, else SESSION.perdure', 'o'),
    force: flag('replace the file if it exists'),
  },
  examples: [
    'perdure export ses_… -o work.perdure',
    'perdure export ses_… | ssh elsewhere perdure import -',
    'perdure export ses_… ses_… -o both.perdure --force',
  ],
  json: z.strictObject({ file: z.string(), sessions: z.array(SessionId), bytes: z.int() }),
  run: async (context, { args, options: { output, force } }) => {
    const { out, err, json } = context;
    if (output === '-' && out.isTerminal) throw wrongCall('a bundle is binary: pipe it, or name a file with -o');
    if (json && (output === '-' || (output === undefined && !out.isTerminal)))
      throw wrongCall('stdout holds the bundle: name a file with -o to get an answer in JSON');
    const ids: SessionId[] = [];
    for (const named of args) ids.push((await context.session(named)).id);
    const target = output ?? (out.isTerminal ? `${ids[0]}.perdure` : '-');
    const bundle = (await context.sessions()).export(ids);
    if (target === '-') {
      let written = 0;
      const pipe = async (): Promise<void> => {
        for await (const chunk of bundle) {
          await out.write(chunk);
          written += chunk.length;
        }
      };
      return void (await withProgress(err, () => `exporting, ${count(written, 'byte')}`, pipe));
    }
    if (!force) refuseToOverwrite(target);
    const shown = printableLine(target);
    const bytes = await withProgress(
      err,
      () => `exporting to ${shown}`,
      () => writeOutput(target, bundle, 0o600),
    );
    await context.answer({ file: target, sessions: ids, bytes }, () => `${shown}  ${count(bytes, 'byte')}`);
  },
});
