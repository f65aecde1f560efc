/** Works on one run that never ends. Arguments: the library, the store's address, a folder, the lease in ms. */
import type { Library } from '../library.ts';
import { stuckAgent } from '../stuck-agent.ts';
import { answer } from './program.ts';

const [url, store, data, leaseMs] = process.argv.slice(2);
const { openRuntime } = (await import(url!)) as Library;
const runtime = await openRuntime({ store: store!, data: data!, agents: [stuckAgent], worker: false });
await runtime.worker({ concurrency: 1, leaseMs: Number(leaseMs) }).start();
answer(() => undefined);
