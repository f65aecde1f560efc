import { z } from 'zod';
import type { Damage } from '../../../schema/damage.ts';
import { SessionId } from '../../../schema/ids.ts';
import { DamageView } from '../../../schema/views/maintenance.ts';
import { type Context, defineCommand, flag, text } from '../../parse/command.ts';
import { wrongCall } from '../../parse/wrong-call.ts';
import { damageLines } from '../../render/damage-text.ts';
import { count } from '../../render/quantity.ts';
import { printableLine } from '../../terminal/printable.ts';
import { withProgress } from '../../terminal/progress.ts';
import { refuseToOverwrite, writeOutput } from '../../terminal/write-output.ts';

/** Finds the damage of the sessions, and says on stderr what is lost. */
const sayLost = async (context: Context, ids: readonly SessionId[]): Promise<readonly Damage[]> => {
  const sessions = await context.sessions();
  const damaged: Damage[] = [];
  for (const id of ids) {
    const damage = await (await sessions.get(id)).damage();
    if (!damage) continue;
    damaged.push(damage);
    for (const line of damageLines(damage, context.err)) await context.note(line);
    if (damage.good > 0) await context.note(`exported up to event ${damage.good}, and continued there as a fork`);
  }
  return damaged;
};

export const exportCommand = defineCommand({
  name: 'export',
  summary: 'write sessions, with the lineage they need, into one portable file',
  args: ['SESSION…'],
  options: {
    output: text('FILE', 'where to write; - is stdout. Default stdout in a pipe, else SESSION.perdure', 'o'),
    force: flag('replace the file if it exists'),
  },
  notes: [
    'A damaged session is exported up to its last good event, with a fork that continues there and says what is lost.',
  ],
  examples: [
    'perdure export ses_… -o work.perdure',
    'perdure export ses_… | ssh elsewhere perdure import -',
    'perdure export ses_… ses_… -o both.perdure --force',
  ],
  json: z.strictObject({
    file: z.string(),
    sessions: z.array(SessionId),
    bytes: z.int(),
    damaged: z.array(DamageView).optional(),
  }),
  run: async (context, { args, options: { output, force } }) => {
    const { out, err, json } = context;
    if (output === '-' && out.isTerminal) throw wrongCall('a bundle is binary: pipe it, or name a file with -o');
    if (json && (output === '-' || (output === undefined && !out.isTerminal)))
      throw wrongCall('stdout holds the bundle: name a file with -o to get an answer in JSON');
    const ids: SessionId[] = [];
    for (const named of args) ids.push((await context.session(named)).id);
    const target = output ?? (out.isTerminal ? `${ids[0]}.perdure` : '-');
    if (target !== '-' && !force) refuseToOverwrite(target);
    const damaged = await withProgress(
      err,
      () => 'reading the logs',
      () => sayLost(context, ids),
    );
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
    const shown = printableLine(target);
    const bytes = await withProgress(
      err,
      () => `exporting to ${shown}`,
      () => writeOutput(target, bundle, 0o600),
    );
    await context.answer(
      { file: target, sessions: ids, bytes, ...(damaged.length > 0 && { damaged }) },
      () => `${shown}  ${count(bytes, 'byte')}`,
    );
  },
});
