import { expect, test } from 'vitest';
import type { VerifyOptions } from '../../core/maintenance/verify.ts';
import { newId } from '../../schema/ids.ts';
import { ReadBudget } from './read-budget.ts';
import { Verifications } from './verifications.ts';

const limits = { freeMs: 0, perKey: 2, perWorkspace: 4, atOnce: 2, onServer: 4, verifyEvents: 10 };
const reader = { workspace: 'a', key: 'key_1' };
const minute = 60_000;

/** A session whose verification the test reports on and ends. */
const heldSession = () => {
  const end = Promise.withResolvers<{ readonly ok: true; readonly events: number; readonly hash: string }>();
  let options: VerifyOptions = {};
  const session = {
    id: newId('ses'),
    summary: async () => ({ seq: 100 }),
    verify: (given: VerifyOptions) => {
      options = given;
      return Promise.race([
        end.promise,
        new Promise<never>((_, reject) => given.signal!.addEventListener('abort', () => reject(given.signal!.reason))),
      ]);
    },
  };
  const report = (done: number) => options.onProgress!({ phase: 'log', done, total: 100 });
  return { session: session as never as Parameters<ReturnType<Verifications['of']>['start']>[0], end, report };
};
const settle = async () => {
  for (let microtask = 0; microtask < 20; microtask++) await Promise.resolve();
};

test('[LOAD4, LOAD5] a verification has progress and a result, which are kept for an hour after its end', async () => {
  let now = 1_000_000;
  const all = new Verifications(new ReadBudget(limits), new AbortController().signal, () => now);
  const own = all.of(reader);
  const { session, end, report } = heldSession();
  const { id } = await own.start(session, { quick: false });
  await settle();
  report(40);
  expect(own.find(session.id, id)).toMatchObject({ status: 'running', phase: 'log', done: 40, total: 100 });
  expect(() => all.of({ ...reader, workspace: 'b' }).find(session.id, id)).toThrow(/no verification/);
  end.resolve({ ok: true, events: 100, hash: 'aa' });
  await settle();
  expect(own.find(session.id, id)).toMatchObject({ status: 'done', result: { ok: true, events: 100 } });
  now += 61 * minute;
  const lost = expect.objectContaining({ code: 'VERIFICATION_NOT_FOUND' });
  expect(() => own.find(session.id, id)).toThrow(lost);
});

test('[LOAD5] a verification goes on while a client asks for it, and is cancelled a minute after the last', async () => {
  let now = 1_000_000;
  const own = new Verifications(new ReadBudget(limits), new AbortController().signal, () => now).of(reader);
  const { session, report } = heldSession();
  const { id } = await own.start(session, { quick: false });
  await settle();
  for (let asked = 0; asked < 3; asked++) {
    now += 0.9 * minute;
    report(10);
    expect(own.find(session.id, id).status).toBe('running');
  }
  now += 1.1 * minute;
  report(20);
  await settle();
  expect(own.find(session.id, id).status).toBe('cancelled');
});

test('[LOAD2, LOAD5] verifications count as long reads, and end when the server stops', async () => {
  const stopping = new AbortController();
  const own = new Verifications(new ReadBudget(limits), stopping.signal).of(reader);
  const sessions = [heldSession(), heldSession(), heldSession()].map(({ session }) => session);
  const [first] = await Promise.all(sessions.slice(0, 2).map((each) => own.start(each, { quick: false })));
  await expect(own.start(sessions[2]!, { quick: false })).rejects.toMatchObject({ code: 'RATE_LIMITED' });
  expect(await own.start(sessions[0]!, { quick: false })).toMatchObject({ id: first!.id });
  await settle();
  stopping.abort();
  await settle();
  expect(own.find(sessions[0]!.id, first!.id).status).toBe('cancelled');
  await own.start(sessions[2]!, { quick: false });
});

test("[LOAD5, TEN1] a neighbour's verifications do not push out the results of a workspace", async () => {
  const all = new Verifications(new ReadBudget(limits), new AbortController().signal, () => 1_000_000);
  const verify = async (own: ReturnType<Verifications['of']>) => {
    const { session, end } = heldSession();
    const { id } = await own.start(session, { quick: false });
    end.resolve({ ok: true, events: 100, hash: 'aa' });
    await settle();
    expect(own.find(session.id, id).status).toBe('done');
    return () => own.find(session.id, id).status;
  };
  const status = await verify(all.of(reader));
  const neighbour = all.of({ workspace: 'b', key: 'key_2' });
  for (let count = 0; count <= 1000; count++) await verify(neighbour);
  expect(status()).toBe('done');
});
