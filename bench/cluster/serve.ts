/** Runs one of our servers. Arguments: the library, the store's address, a folder. */
import type { serveHttp } from '../../src/servers/http/index.ts';
import type { Library } from '../library.ts';
import { answer } from './program.ts';

const [url, store, data] = process.argv.slice(2);
const { openRuntime } = (await import(url!)) as Library;
const http = (await import(new URL('./servers/http/index.js', url!).href)) as { readonly serveHttp: typeof serveHttp };
const server = await http.serveHttp(await openRuntime({ store: store!, data: data! }));
answer(() => server.url);
