import type { EventDraft } from '../../schema/event.ts';
import { type Actor, newId, type RunId } from '../../schema/ids.ts';
import { recallKey } from '../context/recall.ts';
import { ShownText } from '../engine/previews.ts';
import type { RunWriter } from '../engine/run-writer.ts';
import type { WorktreePlace } from '../files/disk/place.ts';
import type { BlobHash } from '../ports/blobs.ts';
import type { ToolContext } from '../ports/tool.ts';
import type { Agent } from '../session/agent.ts';
import { clip } from '../session/context/clip.ts';
import { asJson } from '../session/events/as-json.ts';
import type { Redactor } from '../session/redaction/redact.ts';
import type { Preparation } from '../session-files/run-files.ts';
import { expiryOf, permissionIn, preparationIn, prepareRule } from './prepare-approval.ts';
import type { WorkAccess } from './work-access.ts';

interface Preparing {
  readonly scope: WorkAccess;
  readonly writer: RunWriter;
  readonly run: RunId;
  readonly signal: AbortSignal;
}

const maxOutputChars = 4000;

const outcomeOf = (output: unknown, redactor: Redactor): { exitCode: number | null; output: string } => {
  const { exitCode = null, output: printed } = (output ?? {}) as { exitCode?: number | null; output?: unknown };
  return { exitCode, output: clip(String(asJson(printed ?? output ?? '', redactor)), maxOutputChars) };
};

/**
 * Runs the agent's `prepare` command, which recreates files that snapshots leave out. The log records the outcome, and
 * the run continues in any case.
 */
const prepareWorktree = async (
  { scope, writer, run, signal }: Preparing,
  { name, prepare: { command, shell } }: Pick<Agent, 'name'> & { readonly prepare: NonNullable<Agent['prepare']> },
  place: WorktreePlace,
  callId: string,
): Promise<void> => {
  const redactor = await scope.secrets.redactor();
  const shown = new ShownText<'progress'>(redactor, (type, text) =>
    scope.previews.tell(writer.key, { type, callId, text }),
  );
  const context: ToolContext = {
    ...writer.key,
    run,
    callId,
    idempotencyKey: `${writer.key.session}/${run}/${callId}`,
    attempt: 1,
    signal,
    secrets: {},
    folder: place.folder,
    temporary: place.temporary,
    state: (await writer.fold()).state,
    kept: undefined,
    keep: () => undefined,
    keepArtifact: () => Promise.reject(new TypeError('the prepare command cannot keep artifacts')),
    progress: (text) => shown.push('progress', text),
    recall: (key) => recallKey(scope, writer.key, key),
    delegate: () => Promise.reject(new TypeError('the prepare command cannot delegate')),
  };
  const startedAt = scope.clock.elapsed();
  let outcome: ReturnType<typeof outcomeOf>;
  try {
    outcome = outcomeOf(await shell.execute({ command } as never, context), redactor);
  } catch (error) {
    signal.throwIfAborted();
    outcome = outcomeOf({ output: error instanceof Error ? error.message : String(error) }, redactor);
  }
  shown.end();
  const durationMs = Math.round(scope.clock.elapsed() - startedAt);
  const payload = { command, ...outcome, durationMs };
  const draft: EventDraft = {
    type: 'files.prepared',
    payload,
    actor: `agent:${name}` as Actor,
    turn: 'current',
    run,
  };
  await writer.record(draft);
};

/** Records that `prepare` did not run, because its approval was denied or has expired. */
const skipPrepare = async ({ writer, run }: Preparing, { name, prepare }: Agent, tree: BlobHash): Promise<void> => {
  await writer.decide((fold) => {
    const asked = preparationIn(fold, prepare!.command, tree);
    const { answer = 'expired', by, comment } = asked?.settled ?? {};
    const output = `not run: ${answer}${by ? ` by ${by}` : ''}${comment ? `: ${comment}` : ''}`;
    const common = { turn: fold.turn, run };
    return [
      ...(asked && !asked.settled ? [expiryOf(asked, common)] : []),
      {
        type: 'files.prepared' as const,
        payload: { command: prepare!.command, exitCode: null, output, durationMs: 0 },
        actor: `agent:${name}` as Actor,
        ...common,
      },
    ];
  });
};

/** Returns the preparation that RunFiles calls. Returns undefined if the agent has no `prepare` command. */
export const preparing = (preparation: Preparing, agent: Agent): Preparation | undefined => {
  const { name, prepare } = agent;
  if (!prepare) return undefined;
  return {
    permission: async (tree) => {
      const fold = await preparation.writer.fold();
      if (!(await prepareRule(agent, fold.state))) return 'granted';
      return permissionIn(fold, prepare.command, tree, preparation.scope.clock.now());
    },
    skip: (tree) => skipPrepare(preparation, agent, tree),
    newCause: () => ({ tool: prepare.shell.name, callId: newId('call', preparation.scope.clock.now()) }),
    run: (place, { callId }) => prepareWorktree(preparation, { name, prepare }, place, callId),
  };
};
