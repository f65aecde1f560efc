import type { SessionEvent } from '../../schema/event.ts';
import type { Json } from '../../schema/json.ts';
import type { Message } from '../../schema/message.ts';
import type { ModelFailureKind } from '../../schema/run.ts';
import { type Finish, type Model, type ModelAnswer, ModelFailure } from '../ports/model.ts';
import type { Tool } from '../ports/tool.ts';
import { type CallEnd, EndedAs, failedEnd } from '../session/runs/call-end.ts';
import { resultsIn } from '../session/runs/departures.ts';
import { noUsage } from '../session/runs/run-fold.ts';
import type { RunModels } from './run-models.ts';

type RecordedReply =
  | ModelAnswer
  | {
      readonly failure: ModelFailureKind;
      readonly message: string;
      /** Whether the run failed because of it, without asking again. */
      readonly isLast: boolean;
    };

/** The part of a run's log that a replay needs. */
export interface RecordedRun {
  readonly input: Message;
  /** The models that were asked, in the order of their first requests. */
  readonly models: readonly string[];
  readonly replies: readonly RecordedReply[];
  readonly calls: readonly { readonly tool: string; readonly input: Json; readonly end: CallEnd }[];
}

const endOf = (events: readonly SessionEvent[], callId: string): CallEnd => {
  for (const event of events) {
    if (event.type === 'tool.completed' && event.payload.callId === callId)
      return { outcome: 'ok', output: event.payload.output };
    if (event.type === 'tool.failed' && event.payload.callId === callId) {
      const { outcome, error } = event.payload;
      return { outcome, error };
    }
    const settled = resultsIn(event).find((part) => part.callId === callId);
    if (settled && settled.outcome !== 'ok') return failedEnd(settled.outcome, settled.outcome, String(settled.output));
  }
  return failedEnd('interrupted', 'Interrupted', 'its outcome was never recorded');
};

type Completed = SessionEvent<'model.completed'>['payload'];

/** The answer or failure of each model request that has one. A recorded answer uses nothing. */
const repliesOf = (events: readonly SessionEvent[]): RecordedRun['replies'] => {
  let completed: Completed | undefined;
  return events.flatMap((event): RecordedReply[] => {
    if (event.type === 'model.failed') {
      const { failure, message, retryInMs, next } = event.payload;
      return [{ failure, message, isLast: retryInMs === undefined && next === undefined }];
    }
    if (event.type === 'model.completed') completed = event.payload;
    if (event.type !== 'message.appended' || event.payload.message.role !== 'assistant' || !completed) return [];
    const finish = completed.finish as Finish;
    return [{ parts: event.payload.message.content, finish, usage: { ...noUsage, usd: 0 } }];
  });
};

/** Extracts the recorded run from events. Returns undefined if the events contain no input. */
export const recordedRun = (events: readonly SessionEvent[]): RecordedRun | undefined => {
  const input = events
    .flatMap((event) => (event.type === 'message.appended' ? event.payload.message : []))
    .find(({ role }) => role === 'user');
  if (!input) return undefined;
  const replies = repliesOf(events);
  const calls = replies.flatMap((reply) =>
    'failure' in reply
      ? []
      : reply.parts.flatMap((part) =>
          part.type === 'tool-call' ? { tool: part.tool, input: part.input, end: endOf(events, part.callId) } : [],
        ),
  );
  const asked = events.flatMap((event) => {
    if (event.type === 'model.called') return event.payload.model;
    return event.type === 'model.failed' ? [event.payload.model, event.payload.next ?? []].flat() : [];
  });
  const models = asked.length > 0 ? [...new Set(asked)] : ['recorded'];
  return { input, models, replies, calls };
};

/**
 * Models that return the recorded replies in order, whatever the request. After the last reply, they report the end of
 * the recording and fail. The run waits for them exactly as often as the recorded run did.
 */
export const recordedModels = (
  { models, replies }: RecordedRun,
  contextTokensOf: (model: string) => Promise<number>,
  onRecordingOver: () => void,
): RunModels => {
  let next = 0;
  const answer: Model['answer'] = async () => {
    const reply = replies[next++];
    if (!reply) {
      onRecordingOver();
      throw new ModelFailure('refused', 'the recording has no further answer');
    }
    if ('failure' in reply) throw new ModelFailure(reply.failure, reply.message);
    return reply;
  };
  return {
    names: models,
    get maxWaitMs() {
      const given = replies[next - 1];
      return given && 'failure' in given && given.isLast ? 0 : Number.POSITIVE_INFINITY;
    },
    open: async (name) => ({
      name,
      contextTokens: await contextTokensOf(name),
      price: { input: 0, output: 0 },
      answer,
    }),
  };
};

const keyOf = (tool: string, input: Json): string => JSON.stringify([tool, input]);

const notRecorded = failedEnd(
  'interrupted',
  'NotRecorded',
  'This call was not made when the run was recorded; it was not run.',
);

const notApproved = failedEnd('denied', 'Denied', 'This call needs an approval, and a replay asks no one.');

interface LiveCalls {
  readonly live: boolean;
  isRepeat(tool: string, input: Json): Promise<boolean>;
  /** Whether data from outside in the context holds the call. */
  isTainted(tool: Tool, input: Json, callId: string): Promise<boolean>;
}

/**
 * Tools that return the recorded outcome for the same input. Other calls run only if `live` is set and the call needs
 * no person.
 */
export const recordedTools = (
  tools: ReadonlyMap<string, Tool>,
  { calls }: RecordedRun,
  { live, isRepeat, isTainted }: LiveCalls,
): ReadonlyMap<string, Tool> => {
  const left = Map.groupBy(calls, ({ tool, input }) => keyOf(tool, input));
  const wrap = (tool: Tool): Tool => {
    const { question: _, handoff: __, ...rest } = tool;
    return {
      ...rest,
      effects: 'once',
      repeat: 'allow',
      // Whether a call is held is decided for the tool itself, when it runs.
      safeWhenTainted: true,
      describedBy: undefined,
      // A recorded call does not run, so it has no effects that another branch could repeat.
      isConfined: (input) => !live || (left.get(keyOf(tool.name, input))?.length ?? 0) > 0,
      usesFiles: live && tool.usesFiles,
      approvalFor: () => undefined,
      parse: (input) => ({ value: input }),
      execute: async (input: never, context) => {
        const recorded = left.get(keyOf(tool.name, input))?.shift();
        if (recorded) throw new EndedAs({ ...recorded.end, source: 'replay' });
        const parsed = tool.parse(input);
        if ('problem' in parsed) throw new EndedAs(failedEnd('invalid_input', 'InvalidInput', parsed.problem));
        if (!live || tool.question || tool.handoff) throw new EndedAs(notRecorded);
        const mayRepeat = tool.effects === 'once' && tool.repeat !== 'allow' && !tool.isConfined(input);
        const repeats = mayRepeat && (await isRepeat(tool.name, input));
        const needsPerson = (await tool.approvalFor(input, context)) || (await isTainted(tool, input, context.callId));
        if (repeats || needsPerson) throw new EndedAs(notApproved);
        return tool.execute(parsed.value as never, context);
      },
    };
  };
  return new Map([...tools].map(([name, tool]) => [name, wrap(tool)]));
};
