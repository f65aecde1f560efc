/** A process that works on runs until it dies where its plan says. Argument: the plan as JSON. */
import { openRuntime } from '../../src/index.ts';
import { openStoreAt } from '../open-store.ts';
import { overrideStore } from '../override-store.ts';
import { crashAgent, crashScript, type ToolPlace } from './run-agent.ts';

export interface CrashPlan {
  readonly address: string;
  readonly folder: string;
  /** At the append that makes this event, or in this tool. */
  readonly die:
    | { readonly at: number; readonly place: ToolPlace }
    | { readonly tool: string; readonly place: ToolPlace };
}

const die = (): void => {
  process.kill(process.pid, 'SIGKILL');
};

const plan = JSON.parse(process.argv[2]!) as CrashPlan;
const store = await openStoreAt(plan.address);
const dying = overrideStore(store, {
  append: async (request) => {
    const head = await store.head(request);
    const isTheOne =
      'at' in plan.die && head && head.seq < plan.die.at && plan.die.at <= head.seq + request.events.length;
    if (isTheOne && plan.die.place === 'before') die();
    const outcome = await store.append(request);
    if (isTheOne && outcome.outcome === 'appended') die();
    return outcome;
  },
});
const agent = crashAgent(plan.folder, (tool, place) => {
  if ('tool' in plan.die && plan.die.tool === tool && plan.die.place === place) die();
});
const runtime = await openRuntime({ store: dying, agents: [agent], models: { scripts: [crashScript] } });
await runtime.worker({ pollMs: 200 }).runUntilIdle();
await runtime.close();
