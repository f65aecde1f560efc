import { existsSync, statSync } from 'node:fs';
import { relative, resolve } from 'node:path';
import { z } from 'zod';
import { type Tool, type ToolContext, ToolFailure } from '../../core/ports/tool.ts';
import { Text } from '../../schema/json.ts';
import { defineTool, type ToolDefinition } from '../define-tool.ts';
import { type CommandOutcome, CommandRecord } from './command-record.ts';
import { baseEnvironment, changesSince, noChanges } from './environment.ts';
import { followCommand } from './follow-command.ts';
import { outputText } from './output-text.ts';
import { defaultRecordsFolder, prepareRecords } from './records-folder.ts';

export interface ShellOptions {
  /** What commands find in their environment beside PATH, HOME, the locale and the like. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** A command that nobody waits for any more is ended after so long; 60 s by default. */
  readonly leaseMs?: number;
  /** From TERM to KILL; 2 s by default. */
  readonly graceMs?: number;
  /** For commands that say nothing else; 2 minutes by default. */
  readonly timeoutMs?: number;
  /** Of an output, how much is given back; 1 MiB by default. */
  readonly maxTextBytes?: number;
  /** Of an output, how much is kept on disk; 64 MiB by default. */
  readonly maxFileBytes?: number;
  /** Where commands are recorded; the machine's temporary folder by default. */
  readonly recordsFolder?: string;
  /** Whether a person is asked before a command runs; by default nobody is. */
  readonly approval?: ToolDefinition<typeof Input, ShellOutput>['approval'];
}

export interface ShellOutput {
  readonly exitCode: number | null;
  /** What it printed, stdout and stderr as they came. */
  readonly output: string;
  readonly cwd: string;
  /** Set when it did not end by itself. */
  readonly ended?: string;
  readonly notes?: readonly string[];
}

const hour = 60 * 60 * 1000;
const minute = 60 * 1000;
/** Linux takes no longer argument. */
const maxCommandBytes = 128 * 1024 - 1;

const Kept = z.object({
  cwd: z.string(),
  env: z.object({ set: z.record(z.string(), z.string()), unset: z.array(z.string()) }),
});

const Input = z.object({
  command: Text.min(1).refine((command) => Buffer.byteLength(command) <= maxCommandBytes, {
    error: `is longer than ${maxCommandBytes} bytes: write it to a file and run that`,
  }),
  timeoutMs: z.int().min(1).max(hour).optional(),
});

const endings: Readonly<Record<Exclude<CommandOutcome['ended'], 'exited' | 'failed'>, string>> = {
  timeout: 'it took longer than it was given, and was ended',
  cancelled: 'it was cancelled, and was ended',
  lapsed: 'its runner was gone and nobody took over, so it was ended',
};

const lost = 'What watched over the command is gone, and the command was ended with it. It had printed:';

const shells = ['/bin/bash', '/usr/bin/bash', '/usr/local/bin/bash'];
const shellPath = (): string => shells.find(existsSync) ?? '/bin/sh';

const isFolder = (path: string): boolean => statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false;

/** From the session's folder where it lies in there, which may be elsewhere when the session has moved. */
const keptPath = (folder: string, cwd: string): string => {
  const way = relative(folder, cwd);
  return way === '..' || way.startsWith('../') ? cwd : way;
};

/** A tool that runs commands under a supervisor, which outlives the worker. */
export const defineShellTool = (options: ShellOptions = {}): Tool => {
  const { leaseMs = minute, graceMs = 2000, timeoutMs: defaultTimeoutMs = 2 * minute, env = {} } = options;
  const { maxTextBytes = 1024 ** 2, maxFileBytes = 64 * 1024 ** 2, recordsFolder = defaultRecordsFolder() } = options;

  const recordOf = ({ workspace, idempotencyKey }: ToolContext) =>
    CommandRecord.of(recordsFolder, workspace, idempotencyKey);

  const keptBy = ({ kept, folder }: ToolContext) => {
    const { cwd, env: changes } = Kept.safeParse(kept).data ?? { cwd: '', env: noChanges };
    const wanted = resolve(folder, cwd);
    return { cwd: isFolder(wanted) ? wanted : folder, changes, isGone: !isFolder(wanted) };
  };

  const begin = (
    record: CommandRecord,
    { command, timeoutMs = defaultTimeoutMs }: z.infer<typeof Input>,
    context: ToolContext,
  ) => {
    prepareRecords(recordsFolder);
    const { cwd, changes } = keptBy(context);
    const limits = { timeoutMs, leaseMs, graceMs, maxFileBytes };
    record.begin({ command, shell: shellPath(), cwd, base: baseEnvironment(env), changes, ...limits });
  };

  /** What the command left behind is kept for the next one, as far as its shell came to say it. */
  const conclude = (record: CommandRecord, outcome: CommandOutcome, context: ToolContext): ShellOutput => {
    const { base, changes, cwd: before } = record.request();
    const cwd = record.text('cwd')?.replace(/\n$/, '') || before;
    const left = record.text('env');
    const now = left === undefined ? changes : changesSince(base, left);
    context.keep({ cwd: keptPath(context.folder, cwd), env: now ?? changes });
    const notes = [
      ...(keptBy(context).isGone ? [`the working folder of the last command is gone: this one ran in ${before}`] : []),
      ...(now ? [] : ['the environment is too large to be kept: it stays as it was before']),
    ];
    const { exitCode, bytes, ended } = outcome;
    return {
      exitCode,
      output: outputText(record, maxTextBytes, bytes),
      cwd,
      ...(ended !== 'exited' && ended !== 'failed' && { ended: endings[ended] }),
      ...(notes.length > 0 && { notes }),
    };
  };

  const follow = async (
    record: CommandRecord,
    context: ToolContext,
  ): Promise<ShellOutput | { readonly lost: string }> => {
    const { signal, progress } = context;
    const outcome = await followCommand(record, { signal, onOutput: progress });
    if (outcome === 'lost') return { lost: `${lost}\n${outputText(record, 4000)}` };
    if (outcome.ended === 'failed') throw new ToolFailure(`the command could not be started: ${outcome.message}`);
    return conclude(record, outcome, context);
  };

  return defineTool({
    name: 'shell',
    description:
      'Runs a command by bash in the session folder. The working folder and exported variables hold for the next command. Processes that it leaves behind are ended with it, and there is no input. Gives the exit code and what was printed.',
    input: Input,
    effects: 'once',
    ...(options.approval !== undefined && { approval: options.approval }),
    // The command's own is kept by its supervisor.
    timeoutMs: hour + minute,
    execute: async (input, context): Promise<ShellOutput> => {
      const record = recordOf(context);
      context.signal.throwIfAborted();
      if (!record.exists()) begin(record, input, context);
      const followed = await follow(record, context);
      if ('lost' in followed) throw new ToolFailure(followed.lost);
      return followed;
    },
    reconcile: async (_input, context) => {
      const record = recordOf(context);
      if (!record.exists()) return { outcome: 'unknown', message: 'It was not run on this machine.' };
      if (record.outcome()?.ended === 'failed') return { outcome: 'not-run' };
      const followed = await follow(record, context);
      if ('lost' in followed) return { outcome: 'unknown', message: followed.lost };
      return { outcome: 'ok', output: followed };
    },
    summarize: ({ exitCode, ended }, { command }) => `${command.slice(0, 200)} → ${ended ?? exitCode}`,
  });
};

export const shellTool = defineShellTool();
