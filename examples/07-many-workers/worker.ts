/** One of the workers. It needs the store and the agents, and nobody to tell it what to do. */
import { once } from 'node:events';
import { openRuntime } from 'perdure';
import { walker } from './walker.ts';

await using runtime = await openRuntime({ store: process.env.PERDURE_STORE!, agents: [walker] });
await runtime.worker({ concurrency: 2 }).start();
await once(process, 'disconnect'); // until whoever started it has ended
