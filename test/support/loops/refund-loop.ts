/**
 * A loop that refunds one order, as the guide describes it, in a process that a test kills inside `refund`. Argument:
 * the plan as JSON. The model asks for the refund unless its messages tell what became of one.
 */
import '../end-with-parent.ts';
import { isStepCount, streamText, tool } from 'ai';
import { convertArrayToReadableStream, MockLanguageModelV4 } from 'ai/test';
import { z } from 'zod';
import { connect } from '../../../src/client/index.ts';
import { fromModelMessages, type Message, openRuntime, type Session, toModelMessages } from '../../../src/index.ts';

export interface LoopPlan {
  readonly kind: 'streamText' | 'plain' | 'http';
  readonly session: string;
  readonly payments: string;
  readonly order: string;
  readonly address?: string;
  readonly server?: { readonly url: string; readonly key: string };
  /** Whether the tool can find out later if it paid. */
  readonly reconciles: boolean;
}

const plan = JSON.parse(process.argv[2]!) as LoopPlan;
const { payments, order } = plan;
const input = { order };

const pay = async (given: { order: string }): Promise<string> => {
  await (await fetch(`${payments}/${given.order}`, { method: 'POST' })).text();
  return `refunded ${given.order}`;
};
const reconcile = async (given: { order: string }) => {
  const count: unknown = await (await fetch(`${payments}/${given.order}`)).json();
  return count === 0 ? ({ outcome: 'not-run' } as const) : ({ outcome: 'ok', output: 'found it' } as const);
};
const declared = { refund: { effects: 'once' as const, ...(plan.reconciles && { reconcile }) } };

const usage = {
  inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 1, text: 1, reasoning: 0 },
};
const call = { type: 'tool-call' as const, toolCallId: 'refund-1', toolName: 'refund', input: JSON.stringify(input) };
const model = new MockLanguageModelV4({
  doStream: async ({ prompt }) => {
    const isKnown = prompt.some(({ role }) => role === 'tool');
    const text = [
      { type: 'text-start' as const, id: '1' },
      { type: 'text-delta' as const, id: '1', delta: 'It is settled.' },
      { type: 'text-end' as const, id: '1' },
    ];
    const unified = isKnown ? ('stop' as const) : ('tool-calls' as const);
    return {
      stream: convertArrayToReadableStream([
        { type: 'stream-start' as const, warnings: [] },
        ...(isKnown ? text : [call]),
        { type: 'finish' as const, finishReason: { unified, raw: undefined }, usage },
      ]),
    };
  },
});

const streamed = async (session: Session): Promise<void> => {
  const refund = tool({ inputSchema: z.object({ order: z.string() }), execute: pay });
  const tools = await session.track({ refund }, declared);
  const { system, messages } = await session.context();
  const result = streamText({ model, system, messages: toModelMessages(messages), tools, stopWhen: isStepCount(5) });
  await session.append(fromModelMessages((await result.response).messages));
};

const isKnown = (messages: readonly Message[]): boolean => messages.some(({ role }) => role === 'tool');

const plain = async (session: Session): Promise<void> => {
  const { refund } = await session.track({ refund: pay }, declared);
  while (!isKnown((await session.context()).messages)) await refund(input);
  await session.append({ role: 'assistant', content: 'It is settled.' });
};

if (plan.server) {
  const session = await connect(plan.server).sessions.get(plan.session);
  let token: string | undefined;
  while (!isKnown((await session.context()).messages)) {
    const begun = await session.beginCall({ tool: 'refund', input, effects: 'once', ...(token && { token }) });
    token = begun.token;
    await session.endCall(begun.callId, { token, output: await pay(input) });
  }
  await session.append({ role: 'assistant', content: 'It is settled.' });
} else {
  await using runtime = await openRuntime({ store: plan.address! });
  const session = await runtime.sessions.get(plan.session);
  await (plan.kind === 'plain' ? plain : streamed)(session);
}
process.exit();
