/** Opens a session in a process of its own, twice, and prints how long that took. Argument: a `Resuming` as JSON. */
import { timeOf } from '../statistics.ts';
import type { Setting, SystemName, Wanted } from './contender.ts';
import { importSystem } from './systems/index.ts';

export interface Resuming extends Setting, Wanted {
  readonly system: SystemName;
}

/** From nothing to the messages, in ms. */
export interface Resumed {
  /** From the start of the process. */
  readonly processMs: number;
  /** In a process that has the modules: the store is opened anew, and nothing of it is in memory. */
  readonly storeMs: number;
  /** Of that, on the store that is open. */
  readonly sessionMs: number;
  readonly messages: number;
}

const resuming = JSON.parse(process.argv[2]!) as Resuming;
const system = await importSystem[resuming.system](resuming.engine, resuming.libraryUrl);
const first = await system.read(resuming);
const messages = await first.read(resuming);
const processMs = performance.now();
await first.close();

let sessionMs = 0;
const storeMs = await timeOf(async () => {
  const second = await system.read(resuming);
  sessionMs = await timeOf(() => second.read(resuming));
});
const resumed: Resumed = { processMs, storeMs, sessionMs, messages };
process.stdout.write(JSON.stringify(resumed), () => process.exit());
