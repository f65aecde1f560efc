/**
 * Opens a session in a separate process, three times, and prints how long that took. Argument: a `Resuming` as JSON.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { timeOf } from '../statistics.ts';
import type { Setting, SystemName, Wanted } from './contender.ts';
import { importSystem } from './systems/index.ts';

export interface Resuming extends Setting, Wanted {
  readonly system: SystemName;
}

/** Times from nothing to the messages, in ms. */
export interface Resumed {
  /** Measured from the start of the process. */
  readonly processMs: number;
  /** Measured in a process with loaded modules, where the store is opened again with nothing cached. */
  readonly storeMs: number;
  /** Measured on a store that was opened earlier. */
  readonly sessionMs: number;
  readonly messages: number;
}

const resuming = JSON.parse(process.argv[2]!) as Resuming;
const system = await importSystem[resuming.system](resuming.engine, resuming.libraryUrl);
const first = await system.read(resuming);
const messages = await first.read(resuming);
const processMs = performance.now();
await first.close();

const storeMs = await timeOf(async () => (await system.read(resuming)).read(resuming));
const open = await system.read(resuming);
await pause(500);
const sessionMs = await timeOf(() => open.read(resuming));
const resumed: Resumed = { processMs, storeMs, sessionMs, messages };
process.stdout.write(JSON.stringify(resumed), () => process.exit());
