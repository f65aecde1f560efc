import type { Command } from '../command.ts';
import { adopt } from './adopt.ts';
import { agents } from './agents.ts';
import { answer, approve, deny } from './answers.ts';
import { append } from './append.ts';
import { approvals } from './approvals.ts';
import { artifacts } from './artifacts.ts';
import { attach } from './attach.ts';
import { audit } from './audit.ts';
import { calls } from './calls.ts';
import { cancel } from './cancel.ts';
import { chat } from './chat.ts';
import { commit } from './commit.ts';
import { compact } from './compact.ts';
import { demo } from './demo.ts';
import { diff } from './diff.ts';
import { exportCommand } from './export.ts';
import { filesReading } from './files-reading.ts';
import { filesWriting } from './files-writing.ts';
import { fork } from './fork.ts';
import { gc } from './gc.ts';
import { handoff } from './handoff.ts';
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
import { tree } from './tree.ts';
import { vaultCommands } from './vault.ts';
import { verify } from './verify.ts';
import { webhookCommands } from './webhooks.ts';
import { worker } from './worker.ts';
import { workers } from './workers.ts';
import { workspaceCommands } from './workspaces.ts';

/** In the order of the help. */
export const commands: readonly Command[] = [
  open,
  append,
  send,
  attach,
  chat,
  cancel,
  approvals,
  approve,
  deny,
  answer,
  handoff,
  limit,
  agents,
  serve,
  worker,
  workers,
  demo,
  ls,
  show,
  log,
  state,
  commit,
  diff,
  revert,
  calls,
  ...filesReading,
  ...filesWriting,
  artifacts,
  fork,
  rewind,
  retry,
  replay,
  adopt,
  tree,
  compact,
  recall,
  pin,
  ...lifecycleCommands,
  verify,
  exportCommand,
  importCommand,
  repair,
  gc,
  setup,
  ...memberCommands,
  ...keyCommands,
  ...vaultCommands,
  audit,
  ...webhookCommands,
  ...workspaceCommands,
];

export const findCommand = (name: string): Command | undefined => commands.find((command) => command.name === name);
