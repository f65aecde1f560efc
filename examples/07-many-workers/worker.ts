/** One of the workers. It needs only the store and the agents; no process tells it what to do. */
import { once } from 'node:events';
import { openRuntime } from 'perdure';
import { walker } from './walker.ts';

await using runtime = await openRuntime({ store: process.env.PERDURE_STORE!, agents: [walker] });
await runtime.worker({ concurrency: 2 }).start();
await once(process, 'disconnect'); // until its parent has ended
