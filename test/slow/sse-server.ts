/** A server in a separate process, to be measured and killed. Arguments: the store and the port. */
import '../support/end-with-parent.ts';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { openRuntime } from '../../src/index.ts';
import { serveHttp } from '../../src/servers/http/index.ts';

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;
const [store, port] = process.argv.slice(2);
const runtime = await openRuntime({ store: store! });
const rate = { perSecond: 100_000, burst: 100_000 };
const { url } = await serveHttp(runtime, { port: Number(port), rate, beatMs: 500 });
process.on('message', () => {
  collectGarbage();
  process.send!({ memory: process.memoryUsage() });
});
process.send!({ url });
