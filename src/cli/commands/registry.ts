import type { Command } from '../command.ts';
import { adopt } from './adopt.ts';
import { agents } from './agents.ts';
import { answer, approve, deny } from './answers.ts';
import { append } from './append.ts';
import { approvals } from './approvals.ts';
import { artifacts } from './artifacts.ts';
import { attach } from './attach.ts';
import { audit } from './audit.ts';
import { backup } from './backup.ts';
import { calls } from './calls.ts';
import { cancel } from './cancel.ts';
import { chat } from './chat.ts';
import { commit } from './commit.ts';
import { compact } from './compact.ts';
import { complete } from './complete.ts';
import { completion } from './completion.ts';
import { demo } from './demo.ts';
import { diff } from './diff.ts';
import { exportCommand } from './export.ts';
import { filesReading } from './files-reading.ts';
import { filesWriting } from './files-writing.ts';
import { fork } from './fork.ts';
import { gc } from './gc.ts';
import { handoff } from './handoff.ts';
import { help } from './help.ts';
import { importCommand } from './import.ts';
import { keyCommands } from './keys.ts';
import { lifecycleCommands } from './lifecycle.ts';
import { limit } from './limit.ts';
import { log } from './log.ts';
import { ls } from './ls.ts';
import { memberCommands } from './members.ts';
import { open } from './open.ts';
import { pin } from './pin.ts';
import { recall } from './recall.ts';
import { repair } from './repair.ts';
import { replay } from './replay.ts';
import { retry } from './retry.ts';
import { revert } from './revert.ts';
import { rewind } from './rewind.ts';
import { send } from './send.ts';
import { serve } from './serve.ts';
import { setup } from './setup.ts';
import { show } from './show.ts';
import { state } from './state.ts';
import { title } from './title.ts';
import { tree } from './tree.ts';
import { usage } from './usage.ts';
import { vaultCommands } from './vault.ts';
import { verify } from './verify.ts';
import { webhookCommands } from './webhooks.ts';
import { worker } from './worker.ts';
import { workers } from './workers.ts';
import { workspaceCommands } from './workspaces.ts';

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
    commands: [approvals, approve, deny, answer, limit, handoff],
  },
  {
    name: 'look',
    about: 'see what happened, and why',
    commands: [ls, show, log, state, diff, calls, usage, tree, recall, replay, verify],
  },
  {
    name: 'change',
    about: 'start, branch, go back and end',
    commands: [open, title, append, commit, revert, pin, fork, rewind, adopt, compact, ...lifecycleCommands],
  },
  { name: 'files', about: 'the files of a session', commands: [...filesReading, ...filesWriting, artifacts] },
  { name: 'server', about: 'serve sessions, and work on them', commands: [serve, worker, workers, ...webhookCommands] },
  {
    name: 'team',
    about: 'who may do what',
    commands: [setup, ...memberCommands, ...keyCommands, ...vaultCommands, audit, ...workspaceCommands],
  },
  {
    name: 'store',
    about: 'move sessions, and maintain the store',
    commands: [exportCommand, importCommand, backup, repair, gc, help, completion],
  },
];

/** Commands for newcomers, in the order in which they need them. */
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
  fork,
  serve,
];

/** In the order of the help. */
export const commands: readonly Command[] = commandGroups.flatMap((group) => group.commands);

/** Called by shells only. */
const hiddenCommands: readonly Command[] = [complete];

export const findCommand = (name: string): Command | undefined =>
  [...commands, ...hiddenCommands].find((command) => command.name === name);
