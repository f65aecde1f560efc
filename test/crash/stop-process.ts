/**
 * A process that stops the run of a session, and kills itself as soon as the fact of the stop is in the log. If it
 * `works`, it is also the worker of the run. Argument: the plan as JSON.
 */
import '../support/end-with-parent.ts';
import { openRuntime } from '../../src/index.ts';
import type { SessionId } from '../../src/schema/ids.ts';
import { openStoreAt } from '../support/stores/open-store.ts';
import { overrideStore } from '../support/stores/override-store.ts';
import { type StopName, stops, stuckAgent } from './stop-agent.ts';

export interface StopPlan {
  readonly address: string;
  readonly session: SessionId;
  readonly stop: StopName;
  readonly works: boolean;
}

const plan = JSON.parse(process.argv[2]!) as StopPlan;
const { fact, now } = stops[plan.stop];
const store = await openStoreAt(plan.address);
const dying = overrideStore(store, {
  append: async (request) => {
    const outcome = await store.append(request);
    if (request.events.some(({ type }) => type === fact)) process.kill(process.pid, 'SIGKILL');
    return outcome;
  },
});
const stuck = Promise.withResolvers<void>();
const agent = stuckAgent(() => true, stuck.resolve);
const runtime = await openRuntime({ store: dying, agents: [agent], worker: false });
if (plan.works) {
  await runtime.worker().start();
  await stuck.promise;
}
await now(await runtime.sessions.get(plan.session));
process.exit(); // the channel to the parent keeps the process alive
