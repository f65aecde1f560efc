/** A process that works on runs. Argument: the store's address. */
import '../test/support/end-with-parent.ts';
import { openRuntime } from '../src/index.ts';
import { stuckAgent } from './stuck-agent.ts';

const runtime = await openRuntime({ store: process.argv[2]!, agents: [stuckAgent], worker: false });
await runtime.worker().start();
process.send?.('working');
