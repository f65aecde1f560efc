import { constants as os } from 'node:os';
import { relative, resolve } from 'node:path';
import { z } from 'zod';
import { type RepeatPolicy, type Tool, type ToolContext, ToolFailure } from '../../core/ports/tool.ts';
import { PerdureError } from '../../schema/error.ts';
import { fieldProblem } from '../../schema/field-problem.ts';
import { Text } from '../../schema/json.ts';
import { defineTool, type ToolDefinition } from '../define-tool.ts';
import { type CommandOutcome, CommandRecord } from './command-record.ts';
import { Confinement } from './confinement.ts';
import { baseEnvironment, changesSince, noChanges } from './environment.ts';
import { followCommand } from './follow-command.ts';
import { kernelLimits } from './kernel-limits.ts';
import { outputText } from './output-text.ts';
import { defaultRecordsFolder, prepareRecords } from './records-folder.ts';
import { parseLeft, shellPath } from './shell-script.ts';

export interface ShellOptions {
  /** Environment variables for commands, in addition to PATH, HOME, the locale and similar ones. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** A command is ended when no worker has waited for it for this long, by default 60 s. */
  readonly leaseMs?: number;
  /** The time from TERM to KILL, by default 2 s. */
  readonly graceMs?: number;
  /** The timeout of commands that set none, by default 2 minutes. */
  readonly timeoutMs?: number;
  /** How much of an output is returned, by default 1 MiB. */
  readonly maxTextBytes?: number;
  /** How much of an output is kept on disk, by default 64 MiB. */
  readonly maxFileBytes?: number;
  /** The folder for records of commands, by default in the machine's temporary folder. */
  readonly recordsFolder?: string;
  /**
   * `auto`, the default, uses a sandbox if the host supports it, and otherwise asks a person before each command.
   * `required` runs no command without one. `off` uses none: commands can do what the worker's user can. Every start
   * warns of it, and a worker of root also needs PERDURE_ALLOW_ROOT=1.
   */
  readonly sandbox?: 'auto' | 'required' | 'off';
  /** Whether commands in a sandbox can use the host's network. False by default. */
  readonly network?: boolean;
  /**
   * Paths that commands in a sandbox can read in addition to the system and their folder, such as that of a compiler.
   */
  readonly readable?: readonly string[];
  /** The path of bubblewrap, by default searched in the system folders. */
  readonly bwrap?: string;
  readonly limits?: ShellLimits;
  /**
   * Whether a person must approve commands, by default only those without a sandbox. Where no sandbox works, a person
   * must approve each command in any case, unless `sandbox` is `off`.
   */
  readonly approval?: ToolDefinition<typeof Input, ShellOutput>['approval'];
  /**
   * What happens to a command that repeats one of another branch, by default `ask`. A command in a sandbox without
   * network is no repeat, because its effects are only in the session's folder.
   */
  readonly repeat?: RepeatPolicy;
  /**
   * Whether commands read the outside world, by default those with a network or without a sandbox. Their outputs are
   * marked as data, and taint the session.
   */
  readonly untrusted?: boolean;
}

export interface ShellLimits {
  /** The memory of all processes of a command together, by default 4 GiB. */
  readonly memoryBytes?: number;
  /** The number of processes and threads at one time, by default 512. */
  readonly processes?: number;
  /** The CPU time of all processes of a command together, by default 30 minutes. */
  readonly cpuMs?: number;
  /** The number of files that each process can have open, by default 4096. */
  readonly openFiles?: number;
  /** How much a command can write to its folder and to /tmp, by default 10 GiB. */
  readonly diskBytes?: number;
  /** How many files and folders a command can create there, by default 1,000,000. */
  readonly diskFiles?: number;
  /** The size of each written file, by default 4 GiB. */
  readonly fileBytes?: number;
}

export interface ShellOutput {
  readonly exitCode: number | null;
  /** Stdout and stderr, in the order in which they were printed. */
  readonly output: string;
  readonly cwd: string;
  readonly sandboxed: boolean;
  /** Why the command was ended. Absent if it ended by itself. */
  readonly ended?: string;
  /** The limit that the command exceeded. */
  readonly limit?: 'time' | 'memory' | 'processes' | 'cpu' | 'disk' | 'fileSize';
  readonly notes?: readonly string[];
}

const hour = 60 * 60 * 1000;
const minute = 60 * 1000;
/** The longest argument that Linux supports. */
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
  timeout: 'it exceeded its time limit and was ended',
  cancelled: 'it was cancelled and ended',
  lapsed: 'its worker was gone and no other took over, so it was ended',
  memory: 'it exceeded its memory limit and was ended',
  processes: 'it exceeded its limit of processes and was ended',
  cpu: 'it exceeded its limit of CPU time and was ended',
  disk: 'it wrote more to the disk than its limit and was ended',
};

const limitsMet: Partial<Record<CommandOutcome['ended'], ShellOutput['limit']>> = {
  timeout: 'time',
  memory: 'memory',
  processes: 'processes',
  cpu: 'cpu',
  disk: 'disk',
};

/** The limits that the kernel enforces by a signal, by the exit code of a program that the signal ended. */
const limitSignals: Readonly<Record<number, { readonly limit: ShellOutput['limit']; readonly note: string }>> = {
  [128 + os.signals.SIGXFSZ]: {
    limit: 'fileSize',
    note: 'a file exceeded the size limit, and the program that wrote it was ended',
  },
  [128 + os.signals.SIGXCPU]: { limit: 'cpu', note: 'a program exceeded the limit of CPU time and was ended' },
};

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
  repeat: true,
  untrusted: true,
};

/** The limits with their defaults. */
export const defaultLimits: Required<ShellLimits> = {
  memoryBytes: 4 * 1024 ** 3,
  processes: 512,
  cpuMs: 30 * minute,
  openFiles: 4096,
  fileBytes: 4 * 1024 ** 3,
  diskBytes: 10 * 1024 ** 3,
  diskFiles: 1_000_000,
};
const limitFields = Object.fromEntries(Object.keys(defaultLimits).map((name) => [name, true])) as Record<
  keyof ShellLimits,
  true
>;
const sandboxes: readonly unknown[] = ['auto', 'required', 'off'];

const optionProblem = ({ sandbox = 'auto', limits = {}, ...more }: ShellOptions): string | undefined => {
  if (more.untrusted !== undefined && typeof more.untrusted !== 'boolean') return 'untrusted is not true or false';
  if (!sandboxes.includes(sandbox)) return `sandbox is not one of ${sandboxes.join(', ')}`;
  const wrong = Object.entries(limits).find(([, value]) => !Number.isSafeInteger(value) || value < 1);
  if (wrong) return `limits.${wrong[0]} is not a whole number from 1`;
  return fieldProblem(more, optionFields) ?? fieldProblem(limits, limitFields);
};

const description =
  'Runs a command with bash in the session folder. The working folder and exported variables carry over to the next command. Background processes are ended with the command, and there is no input. Returns the exit code and the output.';

const lost = 'The supervisor of the command is gone, and the command was ended with it. Its output until then:';

/** A path inside the session's folder is kept relative, because the session may move to another machine. */
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
    const isGrouped = kernelLimits().processes.startsWith('cgroup');
    const limits = { timeoutMs, leaseMs, graceMs, maxFileBytes, ...defaultLimits, ...options.limits, isGrouped };
    record.begin({ command, shell: shellPath(), folder, cwd: resolve(folder, cwd), base, changes, sandbox, ...limits });
  };

  /** Builds the output, and keeps the final folder and environment for the next command if the shell reported them. */
  const conclude = (record: CommandRecord, outcome: CommandOutcome, context: ToolContext): ShellOutput => {
    const { base, changes, cwd: wanted, folder, sandbox } = record.request();
    const left = parseLeft(record.left());
    const cwd = left.cwd ?? (left.isMoved ? folder : wanted);
    const now = left.env === undefined ? changes : changesSince(base, left.env);
    context.keep({ cwd: keptPath(context.folder, cwd), env: now ?? changes });
    const { exitCode, bytes, ended } = outcome;
    const signalled = ended === 'exited' ? limitSignals[exitCode ?? 0] : undefined;
    const notes = [
      ...(left.isMoved ? [`the working folder of the last command is gone: this one ran in ${folder}`] : []),
      ...(now ? [] : ['the environment is too large to keep: the next command gets the previous one']),
      ...(signalled ? [signalled.note] : []),
    ];
    const limit = signalled?.limit ?? limitsMet[ended];
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
    ...(options.repeat !== undefined && { repeat: options.repeat }),
    approval: options.approval ?? (() => confinement.isOpen),
    // The supervisor enforces the command's own timeout.
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
      if (!record.exists()) return { outcome: 'unknown', message: 'The command was not started on this machine.' };
      if (record.outcome()?.ended === 'failed') return { outcome: 'not-run' };
      const followed = await follow(record, context);
      if ('lost' in followed) return { outcome: 'unknown', message: followed.lost };
      return { outcome: 'ok', output: followed };
    },
    summarize: ({ exitCode, ended }, { command }) => `${command.slice(0, 200)} → ${ended ?? exitCode}`,
  });
  return {
    ...tool,
    isConfined: () => !network && !confinement.isOpen,
    approvalFor: async (input, context) =>
      (await tool.approvalFor(input, context)) ?? (confinement.kind === 'open' ? {} : undefined),
    get untrusted() {
      return options.untrusted ?? (network || confinement.isOpen);
    },
    get confinement() {
      return confinement.kind;
    },
    get description() {
      return `${description} ${confinement.description}`;
    },
    get caution() {
      return confinement.caution;
    },
  };
};

export const shellTool = defineShellTool();
