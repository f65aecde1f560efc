import type { SessionEvent } from '../../schema/event.ts';
import type { Json } from '../../schema/json.ts';
import type { Message } from '../../schema/message.ts';
import { type Finish, type Model, ModelFailure } from '../ports/model.ts';
import type { Tool } from '../ports/tool.ts';
import { type CallEnd, EndedAs, failedEnd } from '../session/call-end.ts';

/** What the log holds of a run, as far as it can be played again. */
export interface RecordedRun {
  readonly input: Message;
  readonly answers: readonly Extract<Message, { role: 'assistant' }>[];
  readonly completions: readonly SessionEvent<'model.completed'>['payload'][];
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
  }
  return failedEnd('interrupted', 'Interrupted', 'its outcome was never recorded');
};

/** Undefined when there is no input among the events. */
export const recordedRun = (events: readonly SessionEvent[]): RecordedRun | undefined => {
  const messages = events.flatMap((event) => (event.type === 'message.appended' ? event.payload.message : []));
  const input = messages.find(({ role }) => role === 'user');
  if (!input) return undefined;
  const answers = messages.filter((message) => message.role === 'assistant');
  const calls = answers.flatMap(({ content }) =>
    content.flatMap((part) =>
      part.type === 'tool-call' ? { tool: part.tool, input: part.input, end: endOf(events, part.callId) } : [],
    ),
  );
  const completions = events.flatMap((event) => (event.type === 'model.completed' ? event.payload : []));
  return { input, answers, completions, calls };
};

/** Gives the recorded answers one after another, whatever it is asked. */
export const recordedModel = ({ answers, completions }: RecordedRun, contextTokens: number): Model => {
  let next = 0;
  return {
    name: completions[0]?.model ?? 'recorded',
    contextTokens,
    price: { input: 0, output: 0 },
    answer: async () => {
      const answer = answers[next];
      const completion = completions[next++];
      if (!answer || !completion) throw new ModelFailure('refused', 'the recording has no further answer');
      return { parts: answer.content, finish: completion.finish as Finish, usage: completion.usage };
    },
  };
};

const keyOf = (tool: string, input: Json): string => JSON.stringify([tool, input]);

const notRecorded = failedEnd(
  'interrupted',
  'NotRecorded',
  'This call was not made when the run was recorded; it was not run.',
);

/** The tools, answering with what was recorded for the same input; other calls run only when `live`. */
export const recordedTools = (
  tools: ReadonlyMap<string, Tool>,
  { calls }: RecordedRun,
  live: boolean,
): ReadonlyMap<string, Tool> => {
  const left = Map.groupBy(calls, ({ tool, input }) => keyOf(tool, input));
  const wrap = (tool: Tool): Tool => {
    const { question: _, ...rest } = tool;
    return {
      ...rest,
      effects: 'once',
      approvalFor: () => undefined,
      parse: (input) => ({ value: input }),
      execute: (input: never, context) => {
        const recorded = left.get(keyOf(tool.name, input))?.shift();
        if (recorded) throw new EndedAs(recorded.end);
        const parsed = tool.parse(input);
        if ('problem' in parsed) throw new EndedAs(failedEnd('invalid_input', 'InvalidInput', parsed.problem));
        if (live) return tool.execute(parsed.value as never, context);
        throw new EndedAs(notRecorded);
      },
    };
  };
  return new Map([...tools].map(([name, tool]) => [name, wrap(tool)]));
};
