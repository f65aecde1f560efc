import { relative, resolve } from 'node:path';
import { z } from 'zod';
import { type Tool, type ToolContext, ToolFailure } from '../../core/ports/tool.ts';
import { PerdureError } from '../../schema/error.ts';
import { fieldProblem } from '../../schema/field-problem.ts';
import { Text } from '../../schema/json.ts';
import { defineTool, type ToolDefinition } from '../define-tool.ts';
import { type CommandOutcome, CommandRecord } from './command-record.ts';
import { Confinement } from './confinement.ts';
import { baseEnvironment, changesSince, noChanges } from './environment.ts';
import { followCommand } from './follow-command.ts';
import { outputText } from './output-text.ts';
import { defaultRecordsFolder, prepareRecords } from './records-folder.ts';
import { parseLeft, shellPath } from './shell-script.ts';

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
  /** `auto`, the default, confines commands where the host can; `required` runs none where it cannot. */
  readonly sandbox?: 'auto' | 'required' | 'off';
  /** Whether commands in a sandbox have the network of the host; by default they have none. */
  readonly network?: boolean;
  /** What commands in a sandbox can read beside the system and their folder, such as that of a compiler. */
  readonly readable?: readonly string[];
  /** Where bubblewrap is; looked for in the folders of the system by default. */
  readonly bwrap?: string;
  readonly limits?: ShellLimits;
  /** Whether a person is asked before a command runs; by default for commands that run without a sandbox. */
  readonly approval?: ToolDefinition<typeof Input, ShellOutput>['approval'];
}

export interface ShellLimits {
  /** Of all processes of a command together; 4 GiB by default. */
  readonly memoryBytes?: number;
  /** At one time; 1024 by default. */
  readonly processes?: number;
  /** Of each file that is written; 4 GiB by default. */
  readonly fileBytes?: number;
}

export interface ShellOutput {
  readonly exitCode: number | null;
  /** What it printed, stdout and stderr as they came. */
  readonly output: string;
  readonly cwd: string;
  readonly sandboxed: boolean;
  /** Set when it did not end by itself. */
  readonly ended?: string;
  /** Which one it has met. */
  readonly limit?: 'time' | 'memory' | 'processes' | 'fileSize';
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
  memory: 'it took more memory than it may, and was ended',
  processes: 'it started more processes than it may, and was ended',
};

const limitsMet: Partial<Record<CommandOutcome['ended'], ShellOutput['limit']>> = {
  timeout: 'time',
  memory: 'memory',
  processes: 'processes',
};

/** What shells give for a program that SIGXFSZ has ended. */
const fileSizeCode = 128 + 25;
const fileSizeNote = 'a file grew larger than one may: what wrote it was ended';

const optionFields: Record<keyof ShellOptions, true> = {
  env: true,
  leaseMs: true,
  graceMs: true,
  timeoutMs: true,
  maxTextBytes: true,
  maxFileBytes: true,
  recordsFolder: true,
  sandbox: true,
  network: true,
  readable: true,
  bwrap: true,
  limits: true,
  approval: true,
};

const limitFields: Record<keyof ShellLimits, true> = { memoryBytes: true, processes: true, fileBytes: true };
const sandboxes: readonly unknown[] = ['auto', 'required', 'off'];

const optionProblem = ({ sandbox = 'auto', limits = {}, ...more }: ShellOptions): string | undefined => {
  if (!sandboxes.includes(sandbox)) return `sandbox is none of ${sandboxes.join(', ')}`;
  const wrong = Object.entries(limits).find(([, value]) => !Number.isSafeInteger(value) || value < 1);
  if (wrong) return `limits.${wrong[0]} is not a whole number from 1 on`;
  return fieldProblem(more, optionFields) ?? fieldProblem(limits, limitFields);
};

const description =
  'Runs a command by bash in the session folder. The working folder and exported variables hold for the next command. Processes that it leaves behind are ended with it, and there is no input. Gives the exit code and what was printed.';

const lost = 'What watched over the command is gone, and the command was ended with it. It had printed:';

/** From the session's folder where it lies in there, which may be elsewhere when the session has moved. */
const keptPath = (folder: string, cwd: string): string => {
  const way = relative(folder, cwd);
  return way === '..' || way.startsWith('../') ? cwd : way;
};

/** A tool that runs commands under a supervisor, which outlives the worker. */
export const defineShellTool = (options: ShellOptions = {}): Tool => {
  const problem = optionProblem(options);
  if (problem) throw new PerdureError('TOOL_INVALID', `the tool shell cannot be used: ${problem}`);
  const { leaseMs = minute, graceMs = 2000, timeoutMs: defaultTimeoutMs = 2 * minute, env = {} } = options;
  const { maxTextBytes = 1024 ** 2, maxFileBytes = 64 * 1024 ** 2, recordsFolder = defaultRecordsFolder() } = options;
  const { memoryBytes = 4 * 1024 ** 3, processes = 1024, fileBytes = 4 * 1024 ** 3 } = options.limits ?? {};
  const { sandbox = 'auto', network = false, readable = [], bwrap } = options;
  const confinement = new Confinement({ sandbox, network, readable, bwrap, recordsFolder });

  const recordOf = ({ workspace, idempotencyKey }: ToolContext) =>
    CommandRecord.of(recordsFolder, workspace, idempotencyKey);

  const begin = (
    record: CommandRecord,
    { command, timeoutMs = defaultTimeoutMs }: z.infer<typeof Input>,
    context: ToolContext,
  ) => {
    prepareRecords(recordsFolder);
    const { folder, kept } = context;
    const { cwd, env: changes } = Kept.safeParse(kept).data ?? { cwd: '', env: noChanges };
    const sandbox = confinement.sandboxFor(context);
    const base = baseEnvironment(confinement.environmentFor(sandbox, context), env);
    const limits = { timeoutMs, leaseMs, graceMs, maxFileBytes, memoryBytes, processes, fileBytes };
    record.begin({ command, shell: shellPath(), folder, cwd: resolve(folder, cwd), base, changes, sandbox, ...limits });
  };

  /** What the command left behind is kept for the next one, as far as its shell came to say it. */
  const conclude = (record: CommandRecord, outcome: CommandOutcome, context: ToolContext): ShellOutput => {
    const { base, changes, cwd: wanted, folder, sandbox } = record.request();
    const left = parseLeft(record.left());
    const cwd = left.cwd ?? (left.isMoved ? folder : wanted);
    const now = left.env === undefined ? changes : changesSince(base, left.env);
    context.keep({ cwd: keptPath(context.folder, cwd), env: now ?? changes });
    const { exitCode, bytes, ended } = outcome;
    const isFileTooLarge = ended === 'exited' && exitCode === fileSizeCode;
    const notes = [
      ...(left.isMoved ? [`the working folder of the last command is gone: this one ran in ${folder}`] : []),
      ...(now ? [] : ['the environment is too large to be kept: it stays as it was before']),
      ...(isFileTooLarge ? [fileSizeNote] : []),
    ];
    const limit = isFileTooLarge ? 'fileSize' : limitsMet[ended];
    return {
      exitCode,
      output: outputText(record, maxTextBytes, bytes),
      cwd,
      sandboxed: sandbox !== undefined,
      ...(ended !== 'exited' && ended !== 'failed' && { ended: endings[ended] }),
      ...(limit && { limit }),
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

  const tool = defineTool({
    name: 'shell',
    input: Input,
    effects: 'once',
    approval: options.approval ?? (() => confinement.isOpen),
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
  return {
    ...tool,
    get description() {
      return `${description} ${confinement.description}`;
    },
    get caution() {
      return confinement.caution;
    },
  };
};

export const shellTool = defineShellTool();
