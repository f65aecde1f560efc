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

/** From nothing to the messages, in ms. */
export interface Resumed {
  /** From the start of the process. */
  readonly processMs: number;
  /** In a process with loaded modules: the store is opened again, with nothing cached. */
  readonly storeMs: number;
  /** On a store that was opened a while ago. */
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
