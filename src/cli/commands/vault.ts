import { z } from 'zod';
import { SecretInfo, SecretName } from '../../schema/secret-info.ts';
import { ResealedView } from '../../schema/views/registry.ts';
import { type Command, type Context, defineCommand, flag, text } from '../command.ts';
import { count } from '../count.ts';
import { printableLine } from '../printable.ts';
import { readText } from '../read-input.ts';
import { type Column, layOutTable } from '../table.ts';
import { age } from '../time.ts';
import { wrongCall } from '../wrong-call.ts';

const columns: readonly Column[] = [
  { title: 'SECRET' },
  { title: 'CHANGED', align: 'right', leaves: 1 },
  { title: 'ABOUT', flexible: true, leaves: 2 },
];

const tableOf = (all: readonly SecretInfo[], { out, now }: Context): readonly string[] => {
  const rows = all.map(({ name, changedAt, about }) => [name, age(changedAt, now()), printableLine(about ?? '')]);
  return layOutTable(columns, rows, out.columns, (cell, _, row) => (row < 0 ? out.style('dim', cell) : cell));
};

/** Never an argument: others on the machine see those, and shells keep them. */
const valueFrom = async ({ hiddenLine, stdin }: Context, name: string): Promise<string> => {
  const typed = hiddenLine ? await hiddenLine(`the value of ${name}: `) : await readText(stdin());
  const value = typed?.replace(/\r?\n$/, '');
  if (value) return value;
  throw wrongCall(`vault set needs the value of ${name} on stdin, or typed at a terminal: nothing was kept`);
};

export const vaultCommands: readonly Command[] = [
  defineCommand({
    name: 'vault init',
    summary: 'make the master key, by which vaults are sealed',
    args: [],
    options: {},
    notes: [
      'The key goes into the file that PERDURE_MASTER_KEY_FILE names, or master.key of the data folder, for you alone to read. Keep a copy elsewhere: without it no secret can be opened again.',
      'In place of a file, PERDURE_MASTER_KEY may hold base64 of 32 bytes.',
    ],
    examples: ['perdure vault init'],
    makesStore: true,
    backingOptions: ['store', 'config'],
    json: z.strictObject({ file: z.string() }),
    run: async (context) => {
      const made = await (await context.wholeRuntime()).makeMasterKey();
      await context.answer(made, () => `the master key is in ${made.file}: keep a copy elsewhere`);
      return undefined;
    },
  }),
  defineCommand({
    name: 'vault set',
    summary: 'keep a secret for tools, or another value of it',
    args: ['SECRET'],
    options: { about: text('TEXT', 'what it is for') },
    notes: [
      'The value is read from stdin, or typed without being shown. Tools that name it are given it when they run.',
      'From then on [secret NAME] stands in its place in logs, previews and what models are told, and files that hold it are not kept: as it is, in JSON, percent-encoded, in base64, and line by line. In other forms (hex, compressed, in parts) it is not found, and neither is what was written before.',
    ],
    examples: ['perdure vault set github', 'gh auth token | perdure vault set github --about issues'],
    makesStore: true,
    json: SecretInfo,
    run: async (context, { args: [name], options: { about } }) => {
      const { vault } = await context.runtime();
      const info = await vault.set(name!, await valueFrom(context, name!), { about });
      await context.answer(info, () => `${info.name} is kept`);
      return undefined;
    },
  }),
  defineCommand({
    name: 'vault ls',
    summary: 'list the secrets of the workspace, without their values',
    args: [],
    options: {},
    examples: ['perdure vault ls'],
    json: z.strictObject({ secrets: z.array(SecretInfo) }),
    run: async (context) => {
      const all = await (await context.runtime()).vault.list();
      await context.answer({ secrets: all }, () =>
        all.length > 0 ? tableOf(all, context) : 'no secrets yet: `perdure vault set NAME` keeps one',
      );
      return undefined;
    },
  }),
  defineCommand({
    name: 'vault rm',
    summary: 'remove a secret',
    args: ['SECRET'],
    options: {},
    notes: ['What was removed is no secret any more: end it where it came from first.'],
    examples: ['perdure vault rm github'],
    json: z.strictObject({ name: SecretName }),
    run: async (context, { args: [name] }) => {
      await (await context.runtime()).vault.remove(name!);
      await context.answer({ name }, () => `${name} is removed`);
      return undefined;
    },
  }),
  defineCommand({
    name: 'vault rotate',
    summary: 'seal all secrets of the workspace by a new key',
    args: [],
    options: { master: flag('make a new master key, for all workspaces') },
    notes: [
      'A master key in a file is replaced there. When --master broke off, call it again: until then both keys count.',
    ],
    examples: ['perdure vault rotate', 'perdure vault rotate --master'],
    json: z.union([ResealedView, z.strictObject({ workspaces: z.int() })]),
    run: async (context, { options: { master } }) => {
      if (master) {
        const done = await (await context.wholeRuntime()).rotateMasterKey();
        await context.answer(done, () => `a new master key seals ${count(done.workspaces, 'workspace')}`);
        return undefined;
      }
      const done = await (await context.runtime()).vault.rotate();
      await context.answer(done, () => `a new key seals ${count(done.secrets, 'secret')}`);
      return undefined;
    },
  }),
];
