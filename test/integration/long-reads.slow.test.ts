import { setImmediate as loopTurn } from 'node:timers/promises';
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { connect } from '../../src/client/index.ts';
import type { RuntimeStore } from '../../src/core/ports/runtime-store.ts';
import { openRuntime, type Runtime, type VerifyProgress } from '../../src/index.ts';
import type { VerificationJob } from '../../src/schema/views/session.ts';
import type { Answered } from '../../src/servers/http/observer.ts';
import type { ReadLimits } from '../../src/servers/http/read-budget.ts';
import { serveHttp } from '../../src/servers/http/server.ts';
import { openMemoryStore } from '../../src/testing/memory-store.ts';
import { openStoreAt } from '../support/stores/open-store.ts';
import { overrideStore } from '../support/stores/override-store.ts';
import { newStorePlace, type StorePlace, storeKinds } from '../support/stores/stores.ts';

const messages = 1500;
const jobOf = (answer: Response) => answer.json() as Promise<VerificationJob>;

const writeMessages = async (runtime: Runtime, count: number): Promise<string> => {
  const session = await runtime.sessions.open();
  for (let left = count; left > 0; left -= 500)
    await session.append(Array.from({ length: 500 }, (_, at) => ({ role: 'user', content: `message ${left} ${at}` })));
  return session.id;
};

test('[LOAD1] the event loop turns while a log is verified, compared and shown, even if the store answers at once', async () => {
  const runtime = await openRuntime({ store: openMemoryStore(), worker: false });
  onTestFinished(() => runtime.close());
  const session = await runtime.sessions.get(await writeMessages(runtime, messages));
  const reads = {
    verify: () => session.verify(),
    transcript: () => session.transcript(),
    damage: () => session.damage(),
  };
  for (const [name, read] of Object.entries(reads)) {
    let [turns, isOver] = [0, false];
    const reading = read().finally(() => {
      isOver = true;
    });
    for (; !isOver; turns++) await loopTurn();
    await reading;
    expect(turns, name).toBeGreaterThan(5);
  }
});

describe.each(storeKinds)('long reads on %s', (kind) => {
  let place: StorePlace;
  let runtime: Runtime;
  let session: string;
  let pages = 0;
  /** Called before each page of the session is read. */
  let onPage: () => Promise<void>;

  beforeAll(async () => {
    place = await newStorePlace(kind);
    const inner = await openStoreAt(place.address);
    const store: RuntimeStore = overrideStore(inner, {
      read: async (key, range) => {
        if (key.session !== session) return inner.read(key, range);
        pages += 1;
        await onPage();
        return inner.read(key, range);
      },
    });
    runtime = await openRuntime({ store, worker: false });
    session = await writeMessages(runtime, messages);
    await runtime.workspaces.add('other');
  });
  beforeEach(() => {
    pages = 0;
    onPage = async () => undefined;
  });
  afterAll(async () => {
    await runtime.close();
    await place.remove();
  });

  const start = async (reads: Partial<ReadLimits>) => {
    const { token } = await runtime.keys.create({ role: 'viewer' });
    const other = runtime.as({ workspace: 'other', member: 'local', role: 'admin' });
    const { token: otherToken } = await other.keys.create();
    const answered = Promise.withResolvers<Answered>();
    const observer = { answered: (request: Answered) => answered.resolve(request) };
    const server = await serveHttp(runtime, { reads, observer, checksAnswers: true });
    onTestFinished(() => server.stop());
    const ask = (path: string, { key = token, ...init }: RequestInit & { readonly key?: string } = {}) =>
      fetch(`${server.url}/v1${path}`, { ...init, headers: { authorization: `Bearer ${key}` } });
    return { server, token, otherToken, other, answered: answered.promise, ask };
  };

  test('[LOAD2] beyond its limit, a key gets 429 with Retry-After, and another workspace is not affected', async () => {
    const { ask, other, otherToken } = await start({ freeMs: 0, perKey: 3, atOnce: 2 });
    const neighbour = await other.sessions.open();
    const gate = Promise.withResolvers<void>();
    onPage = () => gate.promise;
    const asked = Array.from({ length: 12 }, () => ask(`/sessions/${session}/damage`));
    await expect.poll(() => pages).toBe(2); // The others wait until these two are read.
    gate.resolve();
    expect((await ask(`/sessions/${neighbour.id}/state`, { key: otherToken })).status).toBe(200);
    const answers = await Promise.all(asked);
    const refused = answers.filter(({ status }) => status === 429);
    const done = answers.filter(({ status }) => status === 200);
    expect(refused.length + done.length).toBe(12);
    expect(refused.length).toBeGreaterThan(0);
    expect(done.length).toBeGreaterThanOrEqual(3);
    expect(Number(refused[0]!.headers.get('retry-after'))).toBeGreaterThan(0);
    expect(await refused[0]!.json()).toMatchObject({ code: 'RATE_LIMITED' });
    expect((await ask(`/sessions/${session}/damage`)).status).toBe(200);
  });

  test('[LOAD3] a verification reads no further page after its client has left', async () => {
    const { ask, answered } = await start({});
    const leaving = new AbortController();
    const left = Promise.withResolvers<void>();
    onPage = async () => {
      if (pages < 2) return;
      leaving.abort();
      await left.promise;
      for (let turns = 0; turns < 100; turns++) await loopTurn(); // until the server sees the closed connection
    };
    const asked = ask(`/sessions/${session}/verify`, { signal: leaving.signal });
    await expect(asked).rejects.toThrow();
    left.resolve();
    expect(await answered).toMatchObject({ status: 400 });
    expect(pages).toBeLessThan(5); // The whole verification reads 48.
  });

  test('[LOAD3, LOAD4] verify of the library reports its progress and stops when its signal aborts', async () => {
    const handle = await runtime.sessions.get(session);
    const seen: VerifyProgress[] = [];
    await handle.verify({ onProgress: (progress) => seen.push(progress) });
    const total = messages + 1;
    expect(seen).toContainEqual({ phase: 'log', done: 1000, total });
    expect(seen).toContainEqual({ phase: 'state', done: total, total });
    const whole = pages;
    pages = 0;
    const leaving = new AbortController();
    const stopped = handle.verify({ signal: leaving.signal, onProgress: () => leaving.abort(new Error('enough')) });
    await expect(stopped).rejects.toThrow('enough');
    expect(pages).toBeLessThan(4);
    expect(whole).toBeGreaterThan(10);
    await expect(handle.verify({ onProgress: 1 as never })).rejects.toThrow(/the verification/);
  });

  test('[LOAD4, LOAD5] a large session is verified as a job, which a repeated request joins', async () => {
    const { server, token, otherToken, ask } = await start({ verifyEvents: 100 });
    const gate = Promise.withResolvers<void>();
    onPage = () => gate.promise;
    const answers = await Promise.all(Array.from({ length: 30 }, () => ask(`/sessions/${session}/verify`)));
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([202]));
    const jobs = await Promise.all(answers.map(jobOf));
    expect(new Set(jobs.map(({ id }) => id)).size).toBe(1);
    expect(jobs[0]).toMatchObject({ session, status: 'running', done: 0, total: messages + 1 });
    const [first] = answers;
    const address = first!.headers.get('location')!.slice('/v1'.length);
    expect((await ask(address, { key: otherToken })).status).toBe(404);
    gate.resolve();
    await expect.poll(async () => (await jobOf(await ask(address))).status).toBe('done');
    expect(await (await ask(address)).json()).toMatchObject({ result: { ok: true, events: messages + 1 } });
    const client = connect({ url: server.url, key: token });
    const seen: VerifyProgress[] = [];
    const far = await client.sessions.get(session);
    expect(await far.verify({ onProgress: (progress) => seen.push(progress) })).toMatchObject({ ok: true });
  });

  test('[LOAD3, LOAD5] a verification can be cancelled, and a lost one is reported with how to start another', async () => {
    const { server, token, ask } = await start({ verifyEvents: 100 });
    const client = connect({ url: server.url, key: token });
    const far = await client.sessions.get(session);
    const gate = Promise.withResolvers<void>();
    onPage = () => gate.promise;
    const leaving = new AbortController();
    const verifying = far.verify({ signal: leaving.signal, onProgress: () => undefined });
    await expect.poll(() => pages).toBe(1);
    const job = await jobOf(await ask(`/sessions/${session}/verify`));
    leaving.abort(new Error('enough'));
    await expect(verifying).rejects.toThrow('enough');
    gate.resolve();
    const address = `/sessions/${session}/verifications`;
    const statusNow = async () => (await jobOf(await ask(`${address}/${job.id}`))).status;
    await expect.poll(statusNow).toBe('cancelled');
    expect(pages).toBe(1);
    const lost = await ask(`${address}/ver_01jd3v8m9k5x7q2w4e6r8t0y1a`);
    expect(lost.status).toBe(404);
    expect(await lost.json()).toMatchObject({
      code: 'VERIFICATION_NOT_FOUND',
      detail: expect.stringContaining(`start another with POST /v1/sessions/${session}/verifications`),
    });
  });
});
