/**
 * A process that appends to several sessions concurrently, as fast as it can, until it is killed. It reports every
 * acknowledgement before it continues with that session. Arguments: the store's address, the round, and `outages` if
 * the database may become unavailable.
 */

import '../support/end-with-parent.ts';
import { randomInt } from 'node:crypto';
import type { RuntimeStore } from '../../src/core/ports/runtime-store.ts';
import { isPerdureError, openRuntime, type Runtime, type Session, type SessionSummary } from '../../src/index.ts';
import { openStoreAt } from '../support/stores/open-store.ts';
import { overrideStore } from '../support/stores/override-store.ts';
import { type MarkedAppend, messagesOf } from './marked-append.ts';
import { sendReport } from './report.ts';

const [address, round, mode] = process.argv.slice(2) as [string, string, string?];
const lanes = 6;
let appends = 0;

const reporting = (store: RuntimeStore): RuntimeStore =>
  overrideStore(store, {
    append: async (request) => {
      const outcome = await store.append(request);
      if (outcome.outcome === 'appended') {
        const events = outcome.events.map(({ seq, hash }) => [seq, Buffer.from(hash).toString('hex')] as const);
        sendReport({ kind: 'acknowledged', session: request.session, key: request.key?.key, events });
      }
      return outcome;
    },
  });

const isOutage = (error: unknown): boolean => mode === 'outages' && isPerdureError(error, 'STORE_UNAVAILABLE');

/** A size from 100 to 100,000 characters; small sizes are more likely. */
const anySize = (): number => Math.round(100 * 1000 ** (Math.random() ** 2));

const anyAppend = (session: Session): MarkedAppend => {
  const mark = `${round}.${++appends}`;
  const sizes = Array.from({ length: Math.random() < 0.3 ? 8 : 1 }, anySize);
  return { session: session.id, mark, key: Math.random() < 0.5 ? `key ${mark}` : undefined, sizes };
};

const appendMessages = async (session: Session): Promise<void> => {
  const append = anyAppend(session);
  sendReport({ kind: 'trying', append });
  const options = append.key === undefined ? {} : { idempotencyKey: append.key };
  for (;;) {
    try {
      await session.append(messagesOf(append), options);
      return;
    } catch (error) {
      if (append.key === undefined || !isOutage(error)) throw error;
    }
  }
};

const anyPoint = async (session: Session) => ({ seq: randomInt(1, (await session.summary()).seq + 1) });

const ready = async (session: Session): Promise<Session> => {
  if ((await session.summary()).status === 'paused') await session.resume();
  return session;
};

/** Performs one random operation on a session, and returns the session to continue with. */
const doSomething = async (session: Session): Promise<Session> => {
  const dice = Math.random();
  if (dice < 0.88) await appendMessages(session);
  else if (dice < 0.91) await session.update({ title: `after ${appends} appends` });
  else if (dice < 0.94) await session.rewind({ to: await anyPoint(session) });
  else if (dice < 0.97) await session.pause();
  else return session.fork({ at: await anyPoint(session) });
  return session;
};

const work = async (runtime: Runtime, mine: readonly SessionSummary[]): Promise<never> => {
  const next = () => {
    const known = mine[randomInt(0, mine.length + 1)];
    return known ? runtime.sessions.get(known.id) : runtime.sessions.open();
  };
  for (let session: Session | undefined; ; ) {
    try {
      session = await ready(session && Math.random() < 0.95 ? session : await next());
      session = await ready(await doSomething(session));
    } catch (error) {
      if (!isOutage(error)) throw error;
      session = undefined;
    }
  }
};

const main = async (): Promise<void> => {
  sendReport({ kind: 'opening' });
  const store = reporting(await openStoreAt(address));
  const runtime = await openRuntime({ store, snapshots: { everyEvents: 32, everyBytes: 256 * 1024 } });
  sendReport({ kind: 'opened' });
  const { sessions } = await runtime.sessions.list({ limit: 10 * lanes });
  const dealt = Array.from({ length: lanes }, (_, lane) => sessions.filter((_, index) => index % lanes === lane));
  await Promise.all(dealt.map((mine) => work(runtime, mine)));
};

try {
  await main();
} catch (error) {
  sendReport({ kind: 'failed', reason: error instanceof Error ? `${error.stack}` : String(error) });
  process.exit(1);
}
