/** Follows a session and reports to the parent process at which time it saw each event. */
const [url, store, id] = process.argv.slice(2);
const { openRuntime } = (await import(url!)) as typeof import('../src/index.ts');
const runtime = await openRuntime({ store: store! });
const session = await runtime.sessions.get(id!);
process.once('disconnect', () => void runtime.close());
for await (const { seq } of session.events({ follow: true })) process.send!([seq, String(process.hrtime.bigint())]);
