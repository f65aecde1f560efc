import { defineCommand, flag, text } from '../command.ts';
import { count } from '../count.ts';
import { printableLine } from '../printable.ts';
import { withProgress } from '../progress.ts';
import { refuseToOverwrite, writeOutput } from '../write-output.ts';
import { wrongCall } from '../wrong-call.ts';

export const exportCommand = defineCommand({
  name: 'export',
  summary: 'write sessions and the lineage they need into one portable file',
  args: ['SESSION…'],
  options: {
    output: text('FILE', 'where to; - is stdout. Without it: stdout in a pipe, else SESSION.perdure', 'o'),
    force: flag('replace the file if there is one'),
  },
  examples: [
    'perdure export ses_… -o work.perdure',
    'perdure export ses_… | ssh elsewhere perdure import -',
    'perdure export ses_… ses_… -o both.perdure --force',
  ],
  run: async (context, { args, options: { output, force } }) => {
    const { out, err, json } = context;
    const target = output ?? (out.isTerminal ? `${args[0]}.perdure` : '-');
    if (target === '-' && out.isTerminal) throw wrongCall('a bundle is binary: pipe it, or name a file with -o');
    if (target === '-' && json)
      throw wrongCall('stdout holds the bundle: name a file with -o to get an answer in JSON');
    const sessions = await context.sessions();
    for (const id of args) await context.session(id);
    const bundle = sessions.export(args);
    if (target === '-') {
      for await (const chunk of bundle) await out.write(chunk);
      return;
    }
    if (!force) refuseToOverwrite(target);
    const shown = printableLine(target);
    const bytes = await withProgress(
      err,
      () => `exporting to ${shown}`,
      () => writeOutput(target, bundle),
    );
    await context.answer({ file: target, sessions: args, bytes }, () => `${shown}  ${count(bytes, 'byte')}`);
  },
});
