/** Works through the waiting runs on each request. Arguments: the library, the store's address, a folder. */
import type { Library } from '../library.ts';
import { noopAgent } from './noop-agent.ts';
import { answer } from './program.ts';

const [url, store, data] = process.argv.slice(2);
const library = (await import(url!)) as Library;
const runtime = await library.openRuntime({ store: store!, data: data!, agents: [noopAgent(library)], worker: false });
answer(() => runtime.worker().runUntilIdle());
