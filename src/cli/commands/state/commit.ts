import { newId } from '../../../schema/ids.ts';
import { pointerOf } from '../../../schema/pointer.ts';
import type { PatchOperation } from '../../../schema/state.ts';
import { provenances } from '../../../schema/state.ts';
import { CommitView } from '../../../schema/views/session.ts';
import { type Call, type Context, choice, defineCommand, text, texts } from '../../parse/command.ts';
import { parseJson, readText } from '../../parse/read-input.ts';
import { wrongCall } from '../../parse/wrong-call.ts';
import { commitGist } from '../../render/commit-table.ts';

const options = {
  patch: text('JSON', 'an RFC 6902 patch of the state; - reads it from stdin'),
  fact: texts('KEY=VALUE', 'set a fact; may be repeated'),
  progress: texts('TEXT', 'add a note on the progress of the work; may be repeated'),
  why: text('TEXT', 'why, for the log'),
  provenance: choice('LEVEL', provenances, `how reliable it is: ${provenances.join(', ')}`),
};

const jsonOrText = (value: string): unknown => {
  try {
    return JSON.parse(value);
  } catch {
    return value;
  }
};

const factOperation = (assignment: string): PatchOperation => {
  const [, key, value] = /^([^=]+)=(.*)$/s.exec(assignment) ?? [];
  if (key === undefined) throw wrongCall(`--fact is KEY=VALUE; got "${assignment}"`);
  return { op: 'add', path: pointerOf('facts', key), value: jsonOrText(value!) as never };
};

const noteOperation = (note: string): PatchOperation => ({
  op: 'add',
  path: pointerOf('progress', newId('note')),
  value: { note },
});

const changeOf = async ({ stdin }: Context, { options: { patch, fact, progress } }: Call<typeof options>) => {
  const entries = [...(fact ?? []).map(factOperation), ...(progress ?? []).map(noteOperation)];
  if ((patch === undefined) === (entries.length === 0)) {
    throw wrongCall(
      'commit needs either --patch JSON or --fact KEY=VALUE or --progress TEXT: see `perdure help commit`',
    );
  }
  if (entries.length > 0) return entries;
  const source = patch === '-' ? await readText(stdin()) : patch!;
  return parseJson('the patch', source) as readonly PatchOperation[];
};

export const commit = defineCommand({
  name: 'commit',
  summary: 'change the typed state of a session',
  args: ['SESSION'],
  options,
  notes: ['The VALUE of a fact is read as JSON if possible, else as text: port=8080 is a number.'],
  examples: [
    `perdure commit ses_… --fact port=8080 --why 'read from .env'`,
    `perdure commit ses_… --progress 'the tests pass, the docs are left'`,
    `perdure commit ses_… --patch '[{"op":"remove","path":"/facts/port"}]'`,
  ],
  json: CommitView.nullable(),
  run: async (context, call) => {
    const { why, provenance } = call.options;
    const change = await changeOf(context, call);
    const session = await context.session(call.args[0]!);
    const record = await session.commit(change, { why, provenance });
    await context.answer(record ?? null, () =>
      record ? `committed event ${record.seq}, turn ${record.turn}: ${commitGist(record)}` : 'nothing changed',
    );
  },
});
