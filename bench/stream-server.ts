/** A server in a separate process, whose memory is measured. Arguments: the library, the store. */
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;
const [library, store] = process.argv.slice(2);
const { openRuntime } = (await import(library!)) as typeof import('../src/index.ts');
const { serveHttp } = (await import(
  library!.endsWith('.ts') ? '../src/servers/http/index.ts' : new URL('./servers/http/index.js', library).href
)) as typeof import('../src/servers/http/index.ts');
const runtime = await openRuntime({ store: store!, worker: false });
const unlimited = { perSecond: 1e6, burst: 1e6 };
const { url } = await serveHttp(runtime, {
  rate: unlimited,
  workspaceRate: unlimited,
  streamsPerKey: 1e6,
  streams: { perWorkspace: 1e6, perServer: 1e6 },
});
process.on('message', () => {
  collectGarbage();
  process.send!({ memory: process.memoryUsage() });
});
process.once('disconnect', () => process.exit());
process.send!({ url });
