import { expect, test } from 'vitest';
import type { Run } from '../../src/index.ts';
import { newId } from '../../src/schema/ids.ts';
import { askTool } from '../support/runs/ask-tool.ts';
import { scriptedModel } from '../support/runs/scripted-model.ts';
import { startRuns } from '../support/runs/start-runs.ts';

/** Makes a run, and an input that joined it while it waited. */
const startJoined = async () => {
  const { runtime, session } = await startRuns({
    model: scriptedModel([{ id: 'c1', tool: 'ask', input: {} }]),
    tools: [askTool],
  });
  const run = await session.send('Go');
  await run.result();
  const joining = await session.send('faster', { policy: 'steer' });
  const asked = (await Array.fromAsync(session.events())).find((event) => event.type === 'question.asked');
  await session.answer(asked!.payload.callId, 'this');
  await run.waitForEnd();
  return { runtime, session, run, joining };
};

const eventsAfter = (run: Run, after: number) => Array.fromAsync(run.events({ after }));

test('[RUN22] resuming after any event of a run, or of an input that joined it, yields the rest up to its end', async () => {
  const { runtime, run, joining } = await startJoined();
  for (const each of [run, joining]) {
    const all = await Array.fromAsync(each.events());
    expect(all[0]).toMatchObject({ type: 'input.admitted', run: each.id });
    expect(all.at(-1)).toMatchObject({ type: 'run.ended', run: run.id });
    for (const [place, { seq }] of all.entries()) expect(await eventsAfter(each, seq)).toEqual(all.slice(place + 1));
  }
  await runtime.close();
});

test('[RUN22] reading after the end of a run yields nothing, and an unknown event fails immediately', async () => {
  const { runtime, session, run, joining } = await startJoined();
  await session.update({ title: 'Later' });
  const { seq } = await session.summary();
  for (const each of [run, joining]) {
    expect(await eventsAfter(each, seq)).toEqual([]);
    await expect(eventsAfter(each, seq + 1)).rejects.toMatchObject({ code: 'POINT_NOT_FOUND' });
  }
  await runtime.close();
});

test('[RUN4] cancelling an ended run, or looking up an unknown one, says where to look', async () => {
  const { runtime, session, run } = await startJoined();
  const look = `\`perdure log ${session.id}\` lists all of its runs`;
  await expect(run.cancel()).rejects.toMatchObject({
    code: 'RUN_NOT_FOUND',
    message: `${session.id} has no run ${run.id} that is queued or under way: ${look}`,
    details: { session: session.id, run: run.id },
  });
  const never = newId('run');
  await expect(session.run(never)).rejects.toMatchObject({
    code: 'RUN_NOT_FOUND',
    message: `${session.id} has no run ${never}: ${look}`,
  });
  await runtime.close();
});
