import type { EventDraft } from '../../schema/event.ts';
import type { Actor } from '../../schema/ids.ts';
import { newId } from '../../schema/ids.ts';
import type { Json } from '../../schema/json.ts';
import { ToolCallId } from '../../schema/message.ts';
import type { State } from '../../schema/state.ts';
import type { SessionKey } from '../ports/store.ts';
import { asJson } from '../session/as-json.ts';
import { decideCommit } from '../session/decide-commit.ts';
import type { SessionFold } from '../session/fold.ts';
import { inputHash, outputHash } from '../session/input-hash.ts';
import type { StateDraft } from '../session/state-change.ts';
import type { CallEnd } from './call-end.ts';
import { Journal } from './journal.ts';
import type { Scope } from './scope.ts';
import type { BeginCall } from './tracked-call.ts';

/** What a tool changes, as far as it is to be found in the state. Everything is optional. */
export interface ToolDeclaration<Input = never, Output = never> {
  /** What it says counts as verified. */
  readonly trusted?: boolean;
  /** The files that a call changed, by path. */
  readonly files?: (input: Input, output: Output) => Readonly<Record<string, State['filesModified'][string]['change']>>;
  /** The decisions that a call made, by id. */
  readonly decisions?: (input: Input, output: Output) => Readonly<Record<string, State['decisions'][string]>>;
  /** Anything else in the state. */
  readonly change?: (draft: StateDraft, input: Input, output: Output) => void;
  /** A line for people. */
  readonly summarize?: (output: Output) => string;
}

export type ToolDeclarations = Readonly<Record<string, ToolDeclaration | undefined>>;

const maxSummaryChars = 500;

const summaryOf = (output: Json): string => {
  const text = typeof output === 'string' ? output : JSON.stringify(output);
  return text.length > maxSummaryChars ? `${text.slice(0, maxSummaryChars).toWellFormed()}…` : text;
};

interface Call {
  readonly tool: string;
  readonly callId: string;
  readonly input: Json;
}

/** One use of a tool in the state: counted, and with what its declaration says it changed. */
const applyUse = (draft: StateDraft, call: Call, declaration: ToolDeclaration, ended: CallEnd): void => {
  const { tool, callId } = call;
  const used = Object.hasOwn(draft.toolsUsed, tool) ? draft.toolsUsed[tool]! : { calls: 0, ok: 0, failed: 0 };
  const isOk = ended.outcome === 'ok';
  draft.toolsUsed[tool] = { calls: used.calls + 1, ok: used.ok + (isOk ? 1 : 0), failed: used.failed + (isOk ? 0 : 1) };
  if (!isOk) return;
  const [input, output] = [call.input as never, ended.output as never];
  for (const [path, change] of Object.entries(declaration.files?.(input, output) ?? {})) {
    draft.filesModified[path] = { change, tool, callId };
  }
  Object.assign(draft.decisions, declaration.decisions?.(input, output));
  declaration.change?.(draft, input, output);
};

/** What is recorded of a call's end, apart from what it changed. */
const endFact = (
  fold: SessionFold,
  { tool, callId }: Call,
  trusted: boolean,
  ended: CallEnd,
  durationMs: number,
): EventDraft => {
  const common = { actor: `tool:${tool}` as Actor, turn: fold.turn };
  if (ended.outcome !== 'ok') {
    const { outcome, error } = ended;
    return { type: 'tool.failed', payload: { callId, tool, outcome, error, durationMs }, ...common };
  }
  const output = asJson(ended.output);
  const payload = { callId, tool, output, outputHash: outputHash(output), durationMs, trusted };
  return { type: 'tool.completed', payload, ...common };
};

const endCommit = (scope: Scope, fold: SessionFold, call: Call, declaration: ToolDeclaration, ended: CallEnd) => {
  const { tool, callId } = call;
  const summary =
    ended.outcome === 'ok'
      ? (declaration.summarize?.(ended.output as never) ?? summaryOf(asJson(ended.output)))
      : `${ended.outcome}: ${ended.error.message}`;
  return decideCommit(
    fold,
    {
      type: 'commit',
      change: (draft) => applyUse(draft, call, declaration, ended),
      by: 'tool',
      ...(declaration.trusted && { trusted: true }),
      cause: { tool, callId },
      inputHash: inputHash(fold.inputKey, call.input),
      outputSummary: String(asJson(summary.slice(0, 2000))),
      agents: scope.agents,
    },
    scope.actor,
  );
};

/** A journal of tool calls: each is in the log before it runs, and its outcome after. */
export const journaledCalls = (scope: Scope, key: SessionKey, declarations: ToolDeclarations = {}): BeginCall => {
  const journal = new Journal(scope, key, scope.actor);
  let ending: Promise<unknown> = Promise.resolve();
  /** Outcomes of calls that ran beside each other are written one after another. */
  const inOrder = <T>(work: () => Promise<T>): Promise<T> => {
    const mine = ending.then(work, work);
    ending = mine.catch(() => undefined);
    return mine;
  };
  return async ({ tool, ...request }) => {
    const { data: callId = newId('call') } = ToolCallId.safeParse(request.callId);
    const declaration = (Object.hasOwn(declarations, tool) ? declarations[tool] : undefined) ?? {};
    const call: Call = { tool, callId, input: asJson(request.input) };
    await inOrder(async () => {
      const fold = await journal.fold();
      const payload = { callId, tool, input: call.input, inputHash: inputHash(fold.inputKey, call.input) };
      await journal.begin([{ type: 'tool.called', payload, actor: scope.actor, turn: 'current' }]);
    });
    const startedAt = performance.now();
    return (ended) => {
      const durationMs = Math.round((performance.now() - startedAt) * 1000) / 1000;
      return inOrder(() =>
        journal.end(
          (fold) => endFact(fold, call, declaration.trusted ?? false, ended, durationMs),
          (fold) => endCommit(scope, fold, call, declaration, ended),
        ),
      );
    };
  };
};
