import type { SessionEvent } from '../../schema/event.ts';
import type { AgentAccess, SightAccess, WarningAccess, WriteAccess } from '../engine/scope.ts';
import type { SessionKey } from '../ports/store.ts';
import type { Reconciled } from '../ports/tool.ts';
import { type Call, endCommit, endFact, isFromOutside } from '../session/events/call-events.ts';
import { decodeEvent } from '../session/events/event-codec.ts';
import type { RunningCall, SessionFold } from '../session/fold.ts';
import { type CallEnd, failedEnd, givenEnd, thrownEnd, toldEnd } from '../session/runs/call-end.ts';
import { unknownOutcome } from '../session/runs/settle-calls.ts';
import { declarationOf, type TrackDeclaration, type TrackDeclarations } from './declaration.ts';
import type { Journal } from './journal.ts';

export type TrackingScope = WriteAccess & AgentAccess & WarningAccess & Pick<SightAccess, 'whole' | 'seesByReach'>;

/** Runs a tool outside a loop, with the input and the id of an earlier call. Undefined if the set lacks the tool. */
export type RunTool = (tool: string) => ((input: unknown, callId: string) => unknown) | undefined;

/** Journals the end of a call with its declared changes. */
export const journalEnd = async (
  scope: TrackingScope,
  journal: Journal,
  call: Call,
  declaration: TrackDeclaration,
  ended: CallEnd,
  durationMs: number,
): Promise<void> => {
  const redactor = await scope.secrets.redactor();
  const redacted = toldEnd(ended, redactor);
  const isOutside = (fold: SessionFold): boolean => isFromOutside(fold, call, redacted);
  await journal.end(
    call.callId,
    (fold) => endFact(fold, call, declaration, redacted, { durationMs, untrusted: isOutside(fold) ? true : undefined }),
    (fold) => endCommit(fold, call, declaration, ended, { agents: scope.agents, redactor, isOutside: isOutside(fold) }),
  );
};

const reconciled = async ({ reconcile }: TrackDeclaration, { input, callId }: Call): Promise<Reconciled> => {
  if (!reconcile) return { outcome: 'unknown' };
  try {
    const found: Reconciled | undefined = await reconcile(input as never, { callId });
    return found ?? { outcome: 'unknown', message: 'reconcile returned nothing.' };
  } catch (error) {
    return { outcome: 'unknown', message: error instanceof Error ? error.message : String(error) };
  }
};

const endOf = async (run: () => unknown): Promise<CallEnd> => {
  try {
    return givenEnd(await run());
  } catch (error) {
    return thrownEnd(error, undefined);
  }
};

const settleOne = async (
  scope: TrackingScope,
  key: SessionKey,
  journal: Journal,
  [callId, running]: readonly [string, RunningCall],
  declaration: TrackDeclaration,
  run: (input: unknown, callId: string) => unknown,
): Promise<void> => {
  const { tool, seq, at } = running;
  const [stored] = await scope.store.read(key, { after: seq - 1, upTo: seq, limit: 1 });
  const { payload } = decodeEvent(key.workspace, stored!) as SessionEvent<'tool.called'>;
  const call: Call = { tool, callId, input: payload.input };
  const end = (ended: CallEnd) =>
    journalEnd(scope, journal, call, declaration, ended, Math.max(0, scope.clock.now() - at));
  const again = async (reason: string): Promise<void> => {
    await journal.retry(callId, running, reason);
    await end(await endOf(() => run(call.input, callId)));
  };
  const effects = declaration.effects ?? running.effects ?? 'once';
  if (effects !== 'once') return again('the process that ran it is gone');
  const found = await reconciled(declaration, call);
  if (found.outcome === 'not-run') return again('it had not taken effect');
  if (found.outcome === 'ok') return end({ outcome: 'ok', output: found.output, source: 'reconcile' });
  const said = found.message ? `${unknownOutcome(effects)} ${found.message}` : unknownOutcome(effects);
  return end(failedEnd('interrupted', 'Interrupted', said));
};

/**
 * Settles the calls of these tools that earlier loops left in flight, one after another, according to their effects.
 * A call of another tool is left to the set that has it, or to the first call of this tracker.
 */
export const settleLeft = async (
  scope: TrackingScope,
  key: SessionKey,
  journal: Journal,
  declarations: TrackDeclarations,
  runTool: RunTool,
): Promise<void> => {
  for (const left of journal.left) {
    const { tool } = left[1];
    const run = runTool(tool);
    if (run) await settleOne(scope, key, journal, left, declarationOf(declarations, tool), run);
  }
};
