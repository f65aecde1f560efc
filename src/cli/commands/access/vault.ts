import { z } from 'zod';
import { SecretInfo, SecretName } from '../../../schema/secret-info.ts';
import { ResealedView } from '../../../schema/views/registry.ts';
import { type Command, type Context, defineCommand, flag, text } from '../../parse/command.ts';
import { readText } from '../../parse/read-input.ts';
import { wrongCall } from '../../parse/wrong-call.ts';
import { count } from '../../render/quantity.ts';
import { type Column, layOutTable } from '../../render/table.ts';
import { age } from '../../render/time.ts';
import { printableLine } from '../../terminal/printable.ts';

const columns: readonly Column[] = [
  { title: 'SECRET' },
  { title: 'CHANGED', align: 'right', leaves: 1 },
  { title: 'ABOUT', flexible: true, leaves: 2 },
];

const tableOf = (all: readonly SecretInfo[], { out, now }: Context): readonly string[] => {
  const rows = all.map(({ name, changedAt, about }) => [name, age(changedAt, now()), printableLine(about ?? '')]);
  return layOutTable(columns, rows, out.columns, (cell, _, row) => (row < 0 ? out.style('dim', cell) : cell));
};

/**
 * Reads the value of a secret. It is never an argument, because other users can see arguments and shells record them.
 */
const valueFrom = async ({ hiddenLine, stdin }: Context, name: string): Promise<string> => {
  const typed = hiddenLine ? await hiddenLine(`the value of ${name}: `) : await readText(stdin());
  const value = typed?.replace(/\r?\n$/, '');
  if (value) return value;
  throw wrongCall(`vault set needs the value of ${name} on stdin, or typed at a terminal: nothing was saved`);
};

export const vaultCommands: readonly Command[] = [
  defineCommand({
    name: 'vault init',
    summary: 'make the master key, which seals vaults',
    args: [],
    options: {},
    notes: [
      'The key goes into the file that PERDURE_MASTER_KEY_FILE names, or into master.key in the data folder, readable only by you. Keep a copy elsewhere: without it, no secret can ever be read again.',
      'Instead of a file, PERDURE_MASTER_KEY may hold 32 bytes in base64.',
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
    summary: 'keep a secret for tools, or change its value',
    args: ['SECRET'],
    options: { about: text('TEXT', 'what it is for') },
    notes: [
      'The value is read from stdin, or typed without being shown. Tools that name the secret get it when they run.',
      'From then on, [secret NAME] replaces it in logs, previews and what models see, and files that contain it are not kept. It is recognised as it is, in JSON, percent-encoded, in base64, and line by line, but not in other forms (hex, compressed, in parts), and not in what was written before.',
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
    notes: ['Once removed, the value is no longer hidden: revoke it where it came from first.'],
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
    summary: 'seal all secrets of the workspace with a new key',
    args: [],
    options: { master: flag('make a new master key, for all workspaces') },
    notes: [
      'A master key in a file is replaced there. If --master is interrupted, run it again: until then both keys are valid.',
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
