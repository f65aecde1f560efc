import { audit } from '../commands/access/audit.ts';
import { keyCommands } from '../commands/access/keys.ts';
import { memberCommands } from '../commands/access/members.ts';
import { quotaCommands, workspaceQuotaCommand } from '../commands/access/quotas.ts';
import { vaultCommands } from '../commands/access/vault.ts';
import { webhookCommands } from '../commands/access/webhooks.ts';
import { workspaceCommands } from '../commands/access/workspaces.ts';
import { answer, approve, deny } from '../commands/runs/answers.ts';
import { append } from '../commands/runs/append.ts';
import { approvals } from '../commands/runs/approvals.ts';
import { attach } from '../commands/runs/attach.ts';
import { calls } from '../commands/runs/calls.ts';
import { cancel } from '../commands/runs/cancel.ts';
import { chat } from '../commands/runs/chat.ts';
import { handoff } from '../commands/runs/handoff.ts';
import { limit } from '../commands/runs/limit.ts';
import { runs } from '../commands/runs/runs.ts';
import { send } from '../commands/runs/send.ts';
import { usage } from '../commands/runs/usage.ts';
import { worker } from '../commands/runs/worker.ts';
import { workers } from '../commands/runs/workers.ts';
import { adopt } from '../commands/sessions/adopt.ts';
import { backup } from '../commands/sessions/backup.ts';
import { bind } from '../commands/sessions/bind.ts';
import { exportCommand } from '../commands/sessions/export.ts';
import { fork } from '../commands/sessions/fork.ts';
import { gc } from '../commands/sessions/gc.ts';
import { happened } from '../commands/sessions/happened.ts';
import { importCommand } from '../commands/sessions/import.ts';
import { lifecycleCommands } from '../commands/sessions/lifecycle.ts';
import { log } from '../commands/sessions/log.ts';
import { ls } from '../commands/sessions/ls.ts';
import { open } from '../commands/sessions/open.ts';
import { repair } from '../commands/sessions/repair.ts';
import { replay } from '../commands/sessions/replay.ts';
import { retry } from '../commands/sessions/retry.ts';
import { rewind } from '../commands/sessions/rewind.ts';
import { share } from '../commands/sessions/share.ts';
import { show } from '../commands/sessions/show.ts';
import { title } from '../commands/sessions/title.ts';
import { tree } from '../commands/sessions/tree.ts';
import { verify } from '../commands/sessions/verify.ts';
import { agents } from '../commands/setup/agents.ts';
import { demo } from '../commands/setup/demo.ts';
import { doctor } from '../commands/setup/doctor.ts';
import { help } from '../commands/setup/help.ts';
import { serve } from '../commands/setup/serve.ts';
import { setup } from '../commands/setup/setup.ts';
import { artifacts } from '../commands/state/artifacts.ts';
import { commit } from '../commands/state/commit.ts';
import { compact } from '../commands/state/compact.ts';
import { compare } from '../commands/state/compare.ts';
import { context } from '../commands/state/context.ts';
import { diff } from '../commands/state/diff.ts';
import { filesReading } from '../commands/state/files-reading.ts';
import { filesWriting } from '../commands/state/files-writing.ts';
import { lift } from '../commands/state/lift.ts';
import { pin } from '../commands/state/pin.ts';
import { recall } from '../commands/state/recall.ts';
import { revert } from '../commands/state/revert.ts';
import { state } from '../commands/state/state.ts';
import { taint, taintClear } from '../commands/state/taint.ts';
import { trace } from '../commands/state/trace.ts';
import { complete } from '../completion/complete.ts';
import { completion } from '../completion/completion.ts';
import type { Command } from '../parse/command.ts';

/** Commands grouped by purpose. */
export interface CommandGroup {
  readonly name: string;
  readonly about: string;
  readonly commands: readonly Command[];
}

export const commandGroups: readonly CommandGroup[] = [
  {
    name: 'talk',
    about: 'ask an agent, and follow what it does',
    commands: [chat, send, attach, cancel, retry, agents, demo],
  },
  {
    name: 'decide',
    about: 'answer what runs are waiting for',
    commands: [approvals, approve, deny, answer, limit, handoff, taint, taintClear],
  },
  {
    name: 'look',
    about: 'see what happened, and why',
    commands: [
      ls,
      show,
      log,
      state,
      diff,
      compare,
      trace,
      runs,
      calls,
      happened,
      usage,
      tree,
      context,
      recall,
      replay,
      verify,
    ],
  },
  {
    name: 'change',
    about: 'start, branch, go back and end',
    commands: [
      open,
      title,
      share,
      bind,
      append,
      commit,
      revert,
      lift,
      pin,
      fork,
      rewind,
      adopt,
      compact,
      ...lifecycleCommands,
    ],
  },
  { name: 'files', about: 'the files of a session', commands: [...filesReading, ...filesWriting, artifacts] },
  { name: 'server', about: 'serve sessions, and work on them', commands: [serve, worker, workers, ...webhookCommands] },
  {
    name: 'team',
    about: 'who may do what',
    commands: [
      setup,
      ...memberCommands,
      ...quotaCommands,
      ...keyCommands,
      ...vaultCommands,
      audit,
      ...workspaceCommands,
      workspaceQuotaCommand,
    ],
  },
  {
    name: 'store',
    about: 'move sessions, and maintain the store',
    commands: [doctor, exportCommand, importCommand, backup, repair, gc, help, completion],
  },
];

/** Commands for newcomers, in the order in which they are needed. */
export const firstCommands: readonly Command[] = [
  demo,
  chat,
  send,
  attach,
  approvals,
  ls,
  show,
  log,
  diff,
  compare,
  fork,
  serve,
];

/** All commands, in the order in which the help lists them. */
export const commands: readonly Command[] = commandGroups.flatMap((group) => group.commands);

/** Commands that only shells call. */
const hiddenCommands: readonly Command[] = [complete];

export const findCommand = (name: string): Command | undefined =>
  [...commands, ...hiddenCommands].find((command) => command.name === name);
