import type { EventDraft, PayloadOf } from '../../schema/event.ts';
import { newId, systemActor } from '../../schema/ids.ts';
import type { Json } from '../../schema/json.ts';
import type { Model } from '../ports/model.ts';
import { endChildren } from '../service/cancel.ts';
import { messagesBackwards } from '../service/transcript.ts';
import { nextStep } from '../session/next-step.ts';
import type { ActiveRun, QueuedInput } from '../session/run-fold.ts';
import { callTools } from './call-tools.ts';
import { endDrafts } from './end-run.ts';
import { askModel } from './model-step.ts';
import { recoverCalls } from './recover-calls.ts';
import { agentActor, type RunContext } from './run-context.ts';

type End = Pick<Extract<EventDraft, { type: 'run.ended' }>['payload'], 'status' | 'output' | 'error'>;

const by = (run: RunContext) => ({ actor: agentActor(run), turn: 'current' as const, run: run.run });

const end = (run: RunContext, payload: End) =>
  run.writer.decide((fold) =>
    endDrafts(fold, payload, { run: run.run, actor: agentActor(run), now: run.scope.clock.now() }),
  );

/** Nobody at work while it waits; decided again when what it waits for has come meanwhile. */
const wait = async (run: RunContext, payload: PayloadOf<'run.waiting'>): Promise<void> => {
  await run.writer.record({ type: 'run.waiting', payload, ...by(run) });
};

export const steeredMessages = (inputs: readonly QueuedInput[], run: RunContext['run']): readonly EventDraft[] =>
  inputs.map(({ message, by: actor }) => ({
    type: 'message.appended',
    payload: { message },
    actor,
    turn: 'current',
    run,
  }));

/** An input that joined another run has no run of its own any more. */
const steer = (run: RunContext, inputs: readonly QueuedInput[]) =>
  run.writer.decide((fold) => {
    const still = inputs.filter((input) => fold.queue.some((each) => each.run === input.run));
    return steeredMessages(still, run.run);
  });

const finalText = async ({ scope, writer }: RunContext): Promise<string> => {
  const { seq } = await writer.fold();
  for await (const { message } of messagesBackwards(scope, writer.key, { seq })) {
    if (message.role === 'assistant') {
      return message.content.flatMap((part) => (part.type === 'text' ? part.text : [])).join('');
    }
  }
  return '';
};

const maxOutputRepairs = 2;

/** The answer as the agent's schema wants it; where it is not, the model is told why and answers again. */
const finish = async (run: RunContext, { repairs }: ActiveRun): Promise<'ended' | 'asked-again'> => {
  const text = await finalText(run);
  if (!run.agent.output) {
    await end(run, { status: 'succeeded', output: text });
    return 'ended';
  }
  const parsed = run.agent.output.parse(text);
  if ('value' in parsed) {
    await end(run, { status: 'succeeded', output: parsed.value as Json });
    return 'ended';
  }
  if (repairs >= maxOutputRepairs) {
    await end(run, { status: 'failed', error: { code: 'OUTPUT_INVALID', message: parsed.problem } });
    return 'ended';
  }
  const content = [
    { type: 'text' as const, text: `That is not the form asked for: ${parsed.problem}. Answer with the JSON alone.` },
  ];
  await run.writer.record({
    type: 'message.appended',
    payload: { message: { id: newId('msg'), role: 'user', content } },
    actor: systemActor,
    turn: 'current',
    run: run.run,
  });
  return 'asked-again';
};

/**
 * Goes on with a claimed run until it ends, waits or is paused. Every step is found from the log alone, so it does not matter who did the
 * ones before.
 */
export const driveRun = async (run: RunContext, model: Model): Promise<void> => {
  for (;;) {
    run.signal.throwIfAborted();
    const fold = await run.writer.fold();
    if (!fold.run) return;
    if (fold.run.steps >= run.agent.maxSteps && fold.lastRole !== 'assistant') {
      const message = `the run took ${fold.run.steps} steps, which is the agent's limit: raise maxSteps, or ask for less at once`;
      await end(run, { status: 'failed', error: { code: 'MAX_STEPS', message } });
      return;
    }
    const step = nextStep(fold, run.scope.clock.now());
    switch (step.do) {
      case 'end-children':
        await endChildren(run.scope, run.writer.key, (decide) => run.writer.decide(decide));
        break;
      case 'pause':
        await run.writer.decide((now) =>
          now.status === 'pausing' ? [{ type: 'session.paused', payload: {}, ...by(run) }] : undefined,
        );
        return;
      case 'recover':
        await recoverCalls(run, step.calls);
        break;
      case 'call':
        await callTools(run, step.calls);
        break;
      case 'wait':
        await wait(run, step.waiting);
        return;
      case 'steer':
        await steer(run, step.inputs);
        break;
      case 'finish':
        if ((await finish(run, fold.run)) === 'ended') return;
        break;
      case 'ask': {
        const asked = await askModel(run, model);
        if (asked.ended === 'waits') return;
        if (asked.ended === 'failed') {
          await end(run, { status: 'failed', error: { code: asked.code, message: asked.message } });
          return;
        }
      }
    }
  }
};
