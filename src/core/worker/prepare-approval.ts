import type { EventDraft } from '../../schema/event.ts';
import { newId, type RunId, systemActor } from '../../schema/ids.ts';
import type { State } from '../../schema/state.ts';
import type { BlobHash } from '../ports/blobs.ts';
import type { ApprovalRule } from '../ports/tool.ts';
import type { Agent } from '../session/agent.ts';
import { inputHash } from '../session/events/input-hash.ts';
import type { SessionFold } from '../session/fold.ts';
import type { ApprovalState } from '../session/runs/run-fold.ts';
import { refusedFiles } from './record-end.ts';
import { agentActor, type RunContext } from './run-context.ts';
import type { ReadyCall } from './run-tool.ts';

/**
 * The approval that the agent's `prepare` command needs on this host: only where its shell has no working sandbox. A
 * tool that says nothing about its confinement decides by its own approval.
 */
export const prepareRule = async (
  { prepare }: Pick<Agent, 'prepare'>,
  state: State,
): Promise<ApprovalRule | undefined> => {
  const confinement = prepare?.shell.confinement;
  if (!prepare || confinement === 'sandboxed' || confinement === 'off') return undefined;
  const rule = await prepare.shell.approvalFor({ command: prepare.command }, { state });
  return rule ?? (confinement === 'open' ? {} : undefined);
};

/** Binds an approval to the command and to every file that the command can read. */
const hashFor = (fold: SessionFold, command: string, tree: BlobHash): string =>
  inputHash(fold.inputKey, { prepare: command, tree });

/** The newest approval of the command in this tree. */
export const preparationIn = (fold: SessionFold, command: string, tree: BlobHash): ApprovalState | undefined => {
  const wanted = hashFor(fold, command, tree);
  return Object.values(fold.approvals).findLast((each) => each.prepares && each.inputHash === wanted);
};

export const permissionIn = (
  fold: SessionFold,
  command: string,
  tree: BlobHash,
  now: number,
): 'granted' | 'unanswered' | 'refused' => {
  const known = preparationIn(fold, command, tree);
  if (!known) return 'unanswered';
  if (known.settled) return known.settled.answer === 'approved' ? 'granted' : 'refused';
  return known.expiresAt !== undefined && known.expiresAt <= now ? 'refused' : 'unanswered';
};

export const expiryOf = (
  { id }: ApprovalState,
  common: { readonly turn: SessionFold['turn']; readonly run: RunId },
): EventDraft => ({
  type: 'approval.settled',
  payload: { approval: id, answer: 'expired' },
  actor: systemActor,
  ...common,
});

/**
 * Requests the approval of `prepare` if a call of the batch needs the worktree and the command must run in it first.
 * Returns whether the calls must wait.
 */
export const asksToPrepare = async (run: RunContext, batch: readonly ReadyCall[]): Promise<boolean> => {
  const call = batch.find(({ tool }) => tool.usesFiles);
  const { prepare } = run.agent;
  if (!call || !prepare) return false;
  const { state } = await run.writer.fold();
  const rule = await prepareRule(run.agent, state);
  if (!rule) return false;
  // Each call that needs the worktree then fails for the same reason.
  if (await refusedFiles(() => run.files.ready())) return false;
  const tree = run.files.unpreparedTree;
  if (tree === undefined) return false;
  const now = run.scope.clock.now();
  const { command, shell } = prepare;
  await run.writer.decide((fold) => {
    if (preparationIn(fold, command, tree)) return undefined;
    const why = shell.caution ? ` (${shell.caution})` : '';
    const payload = {
      approval: newId('apr', now),
      callId: call.callId,
      tool: shell.name,
      inputHash: hashFor(fold, command, tree),
      summary: `prepare the files: ${command}${why}`.slice(0, 2000).toWellFormed(),
      requestedBy: fold.run!.requestedBy,
      prepares: tree,
      roles: rule.roles && [...rule.roles],
      notRequester: rule.notRequester,
      expiresAt: rule.expiresInMs === undefined ? undefined : now + rule.expiresInMs,
    };
    return [{ type: 'approval.requested', payload, actor: agentActor(run), turn: fold.turn, run: run.run }];
  });
  return true;
};
