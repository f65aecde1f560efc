import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Runtime, Session } from '../../src/index.ts';
import { defineAgent } from '../../src/index.ts';
import { askedModel } from '../support/runs/asked-model.ts';
import { type RuntimePlace, runtimePlace } from '../support/stores/runtime-places.ts';
import { storeKinds } from '../support/stores/stores.ts';

/** Acts of people and programs. Some change the state, others only what the session waits for. */
const acts = {
  send: (session) => session.send('Go'),
  schedule: (session) => session.send('Later', { notBefore: 9e12 }),
  begin: (session) => session.beginCall({ tool: 'crawl', input: { a: 1 } }),
  handOver: (session) => session.handoff({ to: 'human' }),
  handBack: (session) => session.handoff({ to: 'agent' }),
  pause: (session) => session.pause(),
  resume: (session) => session.resume(),
  setFact: (session) =>
    session.commit((draft) => {
      draft.facts.count = Number(draft.facts.count ?? 0) + 1;
    }),
  openAction: (session) =>
    session.commit((draft) => {
      draft.pendingActions.a = { what: 'ask', status: 'open' };
    }),
  patchAll: (session) => session.commit([{ op: 'add', path: '/scratch', value: { waiting: 1 } }]),
  revert: async (session) => session.revert((await session.commits({ limit: 1 })).commits[0]!.seq),
  adopt: async (session) => {
    const fork = await session.fork();
    await fork.commit((draft) => {
      draft.decisions.d = { what: 'x', why: 'y' };
    });
    return session.adopt(fork);
  },
  rewind: (session) => session.rewind({ to: { seq: 2 } }),
} satisfies Record<string, (session: Session) => Promise<unknown>>;
type Act = keyof typeof acts;

const touches = (operations: readonly { readonly path: string }[]): boolean =>
  operations.some(({ path }) => path === '/waiting' || path.startsWith('/waiting/'));

describe.each(storeKinds)('on %s', (kind) => {
  let place: RuntimePlace;
  let runtime: Runtime;
  const agent = defineAgent({ name: 'desk', model: askedModel().model });
  beforeAll(async () => {
    place = await runtimePlace(kind);
    runtime = await place.open({ agents: [agent] });
  });
  afterAll(async () => {
    await runtime.close();
    await place.remove();
  });

  test('[STWAIT3] whatever happens to a session, what it waits for is in no delta, inverse, patch or diff', async () => {
    let seen = 0;
    const names = fc.array(fc.constantFrom(...(Object.keys(acts) as Act[])), { minLength: 3, maxLength: 12 });
    await fc.assert(
      fc.asyncProperty(names, async (chosen) => {
        const session = (await runtime.sessions.open({ agent })) as Session;
        await session.append({ role: 'user', content: 'Hello' });
        await acts.setFact(session);
        // An act that the status forbids changes nothing, and the others still count.
        for (const name of chosen) await (acts[name](session) as Promise<unknown>).catch(() => undefined);
        const events = await Array.fromAsync(session.events());
        for (const event of events) {
          if (event.type !== 'state.committed') continue;
          expect(touches(event.payload.delta) || touches(event.payload.inverse)).toBe(false);
        }
        const { waiting } = await session.state();
        seen += Object.values(waiting).flatMap((kindOf) => Object.keys(kindOf)).length;
        const diff = await session.diff({ seq: 1 }, { seq: events.length });
        expect(touches(diff.patch)).toBe(false);
        expect(diff).not.toHaveProperty('waiting');
        const fork = await session.fork();
        expect((await session.diff({ seq: events.length }, { session: fork.id })).patch).toEqual([]);
      }),
      { numRuns: 25 },
    );
    expect(seen).toBeGreaterThan(0);
  });
});
