import { basename } from 'node:path';
import { z } from 'zod';
import type { SessionArtifacts } from '../../../core/session-files/artifacts.ts';
import { ArtifactsView, ArtifactView } from '../../../schema/views/files.ts';
import { ContentView, readGiven, writeContent } from '../../files/content.ts';
import { type Context, defineCommand, flag, text } from '../../parse/command.ts';
import { wrongCall } from '../../parse/wrong-call.ts';
import { count } from '../../render/quantity.ts';
import { type Column, layOutTable } from '../../render/table.ts';
import { age, isoTime } from '../../render/time.ts';
import { printable, printableLine } from '../../terminal/printable.ts';
import { refuseToOverwrite, writeOutput } from '../../terminal/write-output.ts';

type Artifact = Awaited<ReturnType<SessionArtifacts['list']>>[number];

const columns: readonly Column[] = [
  { title: 'NAME', flexible: true, whole: true },
  { title: 'TYPE', leaves: 2 },
  { title: 'SIZE', align: 'right' },
  { title: 'TIME', align: 'right', leaves: 3 },
  { title: 'BY', leaves: 1 },
];

const tableOf = (artifacts: readonly Artifact[], { out, now }: Context): readonly string[] => {
  const moment = now();
  const time = out.isTerminal ? (when: number) => age(when, moment) : isoTime;
  const rows = artifacts.map(({ name, mediaType, size, at, by }) => [
    printable(name),
    printableLine(mediaType),
    String(size),
    time(at),
    printableLine(by),
  ]);
  return layOutTable(columns, rows, out.columns, (cell, _, row) => (row < 0 ? out.style('dim', cell) : cell));
};

const WrittenArtifact = z.strictObject({ file: z.string(), name: z.string(), bytes: z.int() });

const options = {
  out: text('FILE', 'write the artifact there instead of to stdout', 'o'),
  force: flag('replace the file if it exists'),
  keep: text('FILE', 'keep a file from this machine, or - for stdin'),
  name: text('NAME', 'what to keep it as; default the name of the file'),
  type: text('TYPE', 'its media type; default by the extension of the name'),
};

export const artifacts = defineCommand({
  name: 'artifacts',
  summary: 'list the artifacts of a session, write one out, or keep one',
  args: ['SESSION', '[NAME]'],
  options,
  examples: [
    'perdure artifacts ses_…',
    'perdure artifacts ses_… report.md -o report.md',
    'perdure artifacts ses_… --keep chart.png',
  ],
  json: z.union([ArtifactsView, ArtifactView, ContentView, WrittenArtifact]),
  run: async (context, { args: [named, wanted], options: { out, force, keep, name, type } }) => {
    if (keep !== undefined) {
      if (wanted !== undefined || out !== undefined) throw wrongCall('--keep stores a file: leave out NAME and --out');
      if (keep === '-' && name === undefined) throw wrongCall('content from stdin needs a name: give it with --name');
      const { bytes } = await readGiven(context, keep);
      const session = await context.session(named!);
      const kept = await session.artifacts.keep(name ?? basename(keep), bytes, { mediaType: type });
      const text = `${printable(kept.name)}  ${printableLine(kept.mediaType)}, ${count(kept.size, 'byte')}`;
      return void (await context.answer(kept, () => text));
    }
    if (name !== undefined || type !== undefined) throw wrongCall('--name and --type go with --keep');
    if (wanted === undefined) {
      if (out !== undefined) throw wrongCall('--out needs NAME: which artifact?');
      const all = await (await context.session(named!)).artifacts.list();
      return void (await context.answer({ artifacts: all }, () =>
        all.length > 0 ? tableOf(all, context) : 'there are no artifacts',
      ));
    }
    const session = await context.session(named!);
    if (out !== undefined && !force) refuseToOverwrite(out, '--out');
    const bytes = await session.artifacts.read(wanted);
    if (out === undefined) return void (await writeContent(context, wanted, bytes, 'name a file with --out'));
    const size = await writeOutput(
      out,
      (async function* () {
        yield bytes;
      })(),
    );
    await context.answer({ file: out, name: wanted, bytes: size }, () => `${printable(out)}  ${count(size, 'byte')}`);
  },
});
