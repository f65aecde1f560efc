/**
 * A process that works on several runs concurrently. Each run stops where its plan says, as if the process had died
 * there. When all have stopped, the process kills itself. Argument: the plan as JSON.
 */
import '../support/end-with-parent.ts';
import { openRuntime } from '../../src/index.ts';
import type { SessionId } from '../../src/schema/ids.ts';
import { openStoreAt } from '../support/stores/open-store.ts';
import { overrideStore } from '../support/stores/override-store.ts';
import { crashAgent, note, type ToolPlace } from './run-agent.ts';

/** Dies at the append that contains event `at`, or in this tool. */
export type Death =
  | { readonly at: number; readonly place: ToolPlace }
  | { readonly tool: string; readonly place: ToolPlace };

export interface CrashPlan {
  readonly address: string;
  readonly folder: string;
  readonly deaths: Readonly<Record<SessionId, Death>>;
}

const { address, folder, deaths } = JSON.parse(process.argv[2]!) as CrashPlan;
const planned = Object.keys(deaths) as SessionId[];
const dead = new Set<SessionId>();
const ended = new Set<SessionId>();

const dieWhenAllAreDone = (): void => {
  if (planned.every((session) => dead.has(session) || ended.has(session))) process.kill(process.pid, 'SIGKILL');
};

const never = new Promise<never>(() => undefined);

/** Blocks all work for the session from now on. */
const die = (session: SessionId): Promise<never> => {
  if (!dead.has(session)) note(folder, session, 'died', 'here');
  dead.add(session);
  dieWhenAllAreDone();
  return never;
};

const store = await openStoreAt(address);
const dying = overrideStore(store, {
  append: async (request) => {
    const { session, events } = request;
    const death = deaths[session];
    const head = await store.head(request);
    if (dead.has(session)) return never;
    const isHere = death && 'at' in death && head && head.seq < death.at && death.at <= head.seq + events.length;
    if (isHere && death.place === 'before') return die(session);
    const outcome = await store.append(request);
    if (dead.has(session)) return never;
    if (isHere && outcome.outcome === 'appended') return die(session);
    if (events.some(({ type }) => type === 'run.ended')) {
      ended.add(session);
      dieWhenAllAreDone();
    }
    return outcome;
  },
});
const agent = crashAgent(folder, async (session, tool, place) => {
  const death = deaths[session];
  const isHere = death && 'tool' in death && death.tool === tool && death.place === place;
  if (isHere || dead.has(session)) await die(session);
});
const runtime = await openRuntime({ store: dying, agents: [agent], worker: false });
await runtime.worker({ pollMs: 200, concurrency: planned.length }).start();
process.send?.('working');
