import { type Call, type Context, defineCommand, flag, text } from '../command.ts';
import { nameOf } from '../config/choose-agent.ts';
import { parseCount } from '../point.ts';

const options = {
  once: flag('end when there is nothing to do'),
  session: text('SESSION', 'only this one'),
  concurrency: text('N', 'sessions at once, 4 without it'),
};

const workerFor = async (context: Context, { options: given }: Call<typeof options>) => {
  const concurrency = parseCount('--concurrency', given.concurrency, 1);
  const session = given.session === undefined ? undefined : (await context.session(given.session)).id;
  return (await context.runtime()).worker({ concurrency, session });
};

export const worker = defineCommand({
  name: 'worker',
  summary: 'work on the runs of the agents in the configuration',
  args: [],
  options,
  notes: [
    'Any number of workers on any number of machines share the work. Ctrl-C stops one: others go on from the log.',
  ],
  examples: ['perdure worker', 'perdure worker --session ses_… --once'],
  makesStore: true,
  isLocal: true,
  run: async (context, call) => {
    const working = await workerFor(context, call);
    const stopped = Promise.withResolvers<void>();
    const release = context.onInterrupt(() => stopped.resolve());
    const { agents } = await context.config();
    await context.note(`at work for ${agents.map(nameOf).join(', ')}; Ctrl-C stops`);
    try {
      if (call.options.once) await Promise.race([working.runUntilIdle(), stopped.promise]);
      else {
        await working.start();
        await stopped.promise;
      }
    } finally {
      await working.stop();
      release();
    }
    return undefined;
  },
});
