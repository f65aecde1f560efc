/** Runs one of our servers without a limit on the rate of requests. Arguments: the library, the store, a folder. */
import type { serveHttp } from '../../src/servers/http/index.ts';
import { answer } from '../cluster/program.ts';
import type { Library } from '../library.ts';

const [url, store, data] = process.argv.slice(2);
const { openRuntime } = (await import(url!)) as Library;
const http = (await import(new URL('./servers/http/index.js', url!).href)) as { readonly serveHttp: typeof serveHttp };
const rate = { perSecond: 1e6, burst: 1e6 };
const server = await http.serveHttp(await openRuntime({ store: store!, data: data!, worker: false }), { rate });
answer(() => server.url);
