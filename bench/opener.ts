/**
 * Opens a session up to its next context in a separate process, and prints when it reached each stage, in ms from its
 * start.
 */
const [url, store, id] = process.argv.slice(2);
const { openRuntime } = (await import(url!)) as typeof import('../src/index.ts');
const imported = performance.now();
const runtime = await openRuntime({ store: store! });
const opened = performance.now();
const session = await runtime.sessions.get(id!);
await session.context();
const assembled = performance.now();
await runtime.close();
console.log(JSON.stringify({ imported, opened, assembled }));
