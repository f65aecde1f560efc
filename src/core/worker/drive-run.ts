import type { EventDraft, PayloadOf } from '../../schema/event.ts';
import { newId, systemActor } from '../../schema/ids.ts';
import type { Json } from '../../schema/json.ts';
import { readPartialAnswer } from '../engine/read-partial-answer.ts';
import { endChildren } from '../runs/cancel.ts';
import { endDrafts, type RunEnd } from '../session/runs/end-run.ts';
import { nextStep } from '../session/runs/next-step.ts';
import type { ActiveRun, QueuedInput } from '../session/runs/run-fold.ts';
import { askModels } from './ask-models.ts';
import { callTools } from './call-tools.ts';
import { currentRequester } from './current-requester.ts';
import { recoverCalls } from './recover-calls.ts';
import { reportHandoff } from './report-handoff.ts';
import { agentActor, type RunContext } from './run-context.ts';
import { inRunSpan } from './run-spans.ts';

const by = (run: RunContext) => ({ actor: agentActor(run), turn: 'current' as const, run: run.run });

const end = async (run: RunContext, payload: RunEnd): Promise<RunEnd> => {
  await run.writer.decide(async (fold) => {
    const partial = await readPartialAnswer(run.scope, run.writer.key, fold);
    return endDrafts(fold, payload, { run: run.run, actor: agentActor(run), now: run.scope.clock.now(), partial });
  });
  return payload;
};

/** Records that the run waits. `workOnSession` checks again afterwards, in case the wait is already over. */
const wait = async (run: RunContext, payload: PayloadOf<'run.waiting'>): Promise<void> => {
  await run.writer.record({ type: 'run.waiting', payload, ...by(run) });
};

const steeredMessages = (inputs: readonly QueuedInput[], run: RunContext['run']): readonly EventDraft[] =>
  inputs.map(({ message, contributors, by: actor }) => ({
    type: 'message.appended',
    payload: { message, contributors },
    actor,
    turn: 'current',
    run,
  }));

/**
 * Adds inputs to the run in progress. Adds only inputs that are still queued. An input that joins this run no longer
 * has its own run. An input of a member who may no longer have runs ends instead.
 */
const steer = async (run: RunContext, inputs: readonly QueuedInput[]): Promise<void> => {
  const checked = await Promise.all(
    inputs.map(async (input) => ({ input, standing: await currentRequester(run.scope, input.by, input.from) })),
  );
  await run.writer.decide((fold) => {
    const still = checked.filter(({ input }) => fold.queue.some((each) => each.run === input.run && !each.cancelledBy));
    const joining = still.flatMap(({ input, standing }) => ('refusal' in standing ? [] : input));
    const refused = still.flatMap(({ input, standing }): EventDraft[] => {
      if (!('refusal' in standing)) return [];
      const payload = { status: 'failed' as const, error: standing.refusal };
      return [{ type: 'run.ended', payload, actor: systemActor, turn: fold.turn, run: input.run }];
    });
    return [...refused, ...steeredMessages(joining, run.run)];
  });
};

const maxOutputRepairs = 2;

/**
 * Ends the run if the answer fits the agent's output schema. Otherwise asks the model to correct the answer, and
 * returns undefined.
 */
const finish = async (run: RunContext, { repairs }: ActiveRun): Promise<RunEnd | undefined> => {
  const text = await run.conversation.lastAnswer(await run.writer.fold());
  if (!run.agent.output) return end(run, { status: 'succeeded', output: text });
  const parsed = run.agent.output.parse(text);
  if ('value' in parsed) return end(run, { status: 'succeeded', output: parsed.value as Json });
  if (repairs >= maxOutputRepairs) {
    const message = `the model's answer still does not fit the agent's output after two corrections: ${parsed.problem}`;
    return end(run, { status: 'failed', error: { code: 'OUTPUT_INVALID', message } });
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
  return undefined;
};

/** Executes the steps of a run. Returns how the run ended, or undefined if it did not end here. */
const drive = async (run: RunContext): Promise<RunEnd | undefined> => {
  for (;;) {
    run.signal.throwIfAborted();
    const fold = await run.writer.fold();
    // The agent handed the session to a person. The run goes on when the session is handed back.
    if (!fold.run || fold.run.waitingFor === 'human') return undefined;
    // A cancel of a queued run that began just before.
    if (fold.run.stop) return undefined;
    if (fold.run.failure) return end(run, { status: 'failed', error: fold.run.failure });
    if (run.isEnding()) return undefined;
    if (fold.run.steps >= run.agent.maxSteps && fold.lastRole !== 'assistant') {
      const message = `the run took ${fold.run.steps} steps, which is the agent's limit: send another input to continue, or raise policies.maxSteps of the agent`;
      return end(run, { status: 'failed', error: { code: 'MAX_STEPS', message } });
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
        return undefined;
      case 'recover':
        await recoverCalls(run, step.calls);
        break;
      case 'call':
        await callTools(run, step.calls);
        break;
      case 'wait':
        await wait(run, step.waiting);
        return undefined;
      case 'report':
        await reportHandoff(run);
        break;
      case 'steer':
        await steer(run, step.inputs);
        break;
      case 'finish': {
        const ended = await finish(run, fold.run);
        if (ended) return ended;
        break;
      }
      case 'ask': {
        const asked = await askModels(run);
        if (asked.ended === 'waits') return undefined;
      }
    }
  }
};

/**
 * Continues a claimed run until it ends, waits or is paused. Every step is derived from the log alone, so other
 * workers may have executed the earlier steps.
 */
export const driveRun = (run: RunContext): Promise<void> =>
  inRunSpan(run, async (span) => {
    const ended = await drive(run);
    if (ended) span.set({ 'perdure.run.status': ended.status });
    if (ended?.status === 'failed') span.fail(ended.error.code);
  });
