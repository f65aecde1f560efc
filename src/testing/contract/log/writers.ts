import { describe, expect, test } from 'vitest';
import type { NewEvent } from '../../../core/ports/store.ts';
import { type MemberId, newId } from '../../../schema/ids.ts';
import { type ContractSetup, newKey } from '../contract-setup.ts';
import { event, message, raw, rawText } from './new-events.ts';
import { append, expectSound, mustAppend, mustHead, openSession } from './session-log.ts';

const started = (): NewEvent => ({ ...event('run.started', { attempt: 1 }), run: newId('run') });
const toolEvent: NewEvent = { ...raw(new TextEncoder().encode('{}')), type: 'tool.called' };
const modelEvent: NewEvent = { ...toolEvent, type: 'model.called' };
const run = (epoch: number, claim = '') => ({ writer: { kind: 'run', epoch, claim } }) as const;

export const describeWriters = (setup: ContractSetup) =>
  describe('writers', () => {
    test("[WR1] an append by a run writer lands with the session's epoch, and is fenced with any other epoch", async () => {
      const { store } = setup;
      const key = newKey();
      await openSession(store, key);
      await mustAppend(store, key, [started()], run(0));
      for (const epoch of [-1, 1, 2]) {
        expect(await append(store, key, [rawText('x')], run(epoch))).toEqual({ outcome: 'fenced', epoch: 0 });
      }
      expect(await expectSound(store, key)).toHaveLength(2);
    });

    test('[WR1] an append by a run writer with an old epoch never lands, through this store or another', async () => {
      const key = newKey();
      const { other } = setup;
      await openSession(setup.store, key);
      await mustAppend(setup.store, key, [started()], run(0));
      const { head } = await mustAppend(other, key, [message('claim')], { raisesEpoch: true });
      const late = [setup.store, other].flatMap((store) => [
        append(store, key, [rawText('late')], run(0)),
        append(store, key, [rawText('late')], { ...run(0), onHead: 3 }),
      ]);
      for (const outcome of await Promise.all(late)) expect(outcome).toEqual({ outcome: 'fenced', epoch: 1 });
      await mustAppend(setup.store, key, [started()], run(1, head.claim));
      expect(await expectSound(other, key)).toHaveLength(4);
    });

    test('[WR1] after a claim that races with a run, no event of the old epoch lands', async () => {
      const key = newKey();
      const { other } = setup;
      await openSession(setup.store, key);
      const zombie = Array.from({ length: 60 }, () => append(setup.store, key, [toolEvent], run(0)));
      const claim = mustAppend(other, key, [message('claim')], { raisesEpoch: true });
      await Promise.all([...zombie, claim]);
      const events = await expectSound(other, key);
      const claimed = events.findIndex(({ type }) => type === 'message.appended');
      expect(events.slice(claimed + 1)).toEqual([]);
      const landed = (await Promise.all(zombie)).filter(({ outcome }) => outcome === 'appended');
      expect(events).toHaveLength(2 + landed.length);
    });

    test('[DMG6] a quarantined session rejects every append that does not allow for it, through any store', async () => {
      const { store, other } = setup;
      const key = newKey();
      await openSession(store, key);
      await mustAppend(store, key, [message('a')]);
      const payload = { seq: 2, reason: 'r', status: 'open', lastTurn: 1, messages: 0, agent: null } as const;
      const quarantined = event('session.quarantined', payload, 0);
      const { head } = await mustAppend(store, key, [quarantined], { raisesEpoch: true });
      expect(head.summary).toMatchObject({ damaged: { seq: 2, at: 3 }, status: 'open', messages: 0, lastTurn: 1 });
      expect((await store.list(key.workspace, { limit: 1 })).sessions[0]).toMatchObject({ damaged: { seq: 2, at: 3 } });
      for (const each of [store, other]) {
        const damaged = { outcome: 'damaged', seq: 2 };
        expect(await append(each, key, [message('late')])).toEqual(damaged);
        expect(await append(each, key, [message('late')], { onHead: 3 })).toEqual(damaged);
        expect(await append(each, key, [started()], run(1, head.claim))).toEqual(damaged);
      }
      await mustAppend(other, key, [event('session.closed', {}, 0)], { whileDamaged: true });
      expect((await mustHead(store, key)).summary).toMatchObject({ status: 'closed', damaged: { seq: 2, at: 3 } });
    });

    test('[WR2] an append that raises the epoch raises it by one, and a rejected one does not', async () => {
      const { store } = setup;
      const key = newKey();
      await openSession(store, key);
      const first = await mustAppend(store, key, [message('a')], { raisesEpoch: true });
      expect(first.head.epoch).toBe(1);
      expect(await append(store, key, [message('b')], { raisesEpoch: true, onHead: 1 })).toMatchObject({
        outcome: 'conflict',
      });
      expect((await mustHead(store, key)).epoch).toBe(1);
      await mustAppend(store, key, [message('c')], { raisesEpoch: true, ...run(1, first.head.claim) });
      expect((await mustHead(store, key)).epoch).toBe(2);
    });

    test('[WR5] every append that raises the epoch makes a new claim, and the number without the claim is fenced', async () => {
      const { store, other } = setup;
      const key = newKey();
      await openSession(store, key);
      const claims = [(await mustHead(store, key)).claim];
      for (const epoch of [1, 2, 3]) {
        const { head, events } = await mustAppend(store, key, [message('a'), message('b')], { raisesEpoch: true });
        expect(head).toMatchObject({ epoch, claim: Buffer.from(events[0]!.hash).toString('hex').slice(0, 32) });
        for (const each of [store, other]) {
          for (const claim of [...claims, '0'.repeat(32)]) {
            expect(await append(each, key, [started()], run(epoch, claim))).toEqual({ outcome: 'fenced', epoch });
          }
          await mustAppend(each, key, [started()], run(epoch, head.claim));
          expect(await mustHead(each, key)).toMatchObject({ epoch, claim: head.claim });
        }
        claims.push(head.claim);
      }
      await expectSound(other, key);
    });

    test('[WR6] a run writer whose newest event is beyond the head is fenced', async () => {
      const { store, other } = setup;
      const key = newKey();
      await openSession(store, key);
      const writerAt = (writtenTo: number) => ({ writer: { kind: 'run', epoch: 0, claim: '', writtenTo } }) as const;
      await mustAppend(store, key, [started()], writerAt(1));
      for (const each of [store, other]) {
        expect(await append(each, key, [toolEvent], writerAt(3))).toEqual({ outcome: 'fenced', epoch: 0 });
      }
      await mustAppend(other, key, [toolEvent], writerAt(2));
      expect(await expectSound(store, key)).toHaveLength(3);
    });

    test('[WR2, WR7] a fact of an outside writer raises the epoch at any head, however fast the run writes', async () => {
      const { store, other } = setup;
      const key = newKey();
      await openSession(store, key);
      const busy = Array.from({ length: 60 }, () => append(store, key, [toolEvent], run(0)));
      const { head, events } = await mustAppend(other, key, [event('cancel.requested', {})], { raisesEpoch: true });
      expect(head).toMatchObject({ epoch: 1, seq: events[0]!.seq });
      await Promise.all(busy);
      await mustAppend(other, key, [toolEvent], run(head.epoch, head.claim));
      expect((await expectSound(store, key)).slice(-2)).toMatchObject([
        { type: 'cancel.requested' },
        { type: 'tool.called' },
      ]);
    });

    test('[WR8] an append that names the holder lands only while that party holds the session', async () => {
      const { store, other } = setup;
      const key = newKey();
      await openSession(store, key);
      const handed = (to: 'agent' | 'human', member?: MemberId) => event('session.handed', { to, member });
      const ann = 'ann' as MemberId;
      const byAgent = { whileHeldBy: { holder: 'agent' } } as const;
      await mustAppend(store, key, [handed('human', ann)], { ...byAgent, raisesEpoch: true });
      for (const each of [store, other]) {
        for (const whileHeldBy of [
          { holder: 'agent' },
          { holder: 'human' },
          { holder: 'human', member: 'bob' as MemberId },
          { holder: 'human', member: ann, role: 'admin' },
        ] as const) {
          expect(await append(each, key, [handed('agent')], { whileHeldBy, raisesEpoch: true })).toEqual({
            outcome: 'held',
          });
        }
      }
      expect(await mustHead(store, key)).toMatchObject({ seq: 2, epoch: 1 });
      const rivals = await Promise.all(
        [store, other].map((each) =>
          append(each, key, [handed('human')], { whileHeldBy: { holder: 'human', member: ann } }),
        ),
      );
      expect(rivals.map(({ outcome }) => outcome).toSorted()).toEqual(['appended', 'held']);
    });

    test('[WR3] an outside writer may not append run.*, tool.* or model.* events, not even together with other events', async () => {
      const { store } = setup;
      const key = newKey();
      await openSession(store, key);
      for (const forbidden of [started(), toolEvent, modelEvent]) {
        await expect(append(store, key, [forbidden])).rejects.toMatchObject({ code: 'WRITER_FORBIDDEN' });
        await expect(append(store, key, [rawText('a'), forbidden])).rejects.toMatchObject({ code: 'WRITER_FORBIDDEN' });
      }
      const absent = newKey(key.workspace);
      await expect(append(store, absent, [started()], { creates: {} })).rejects.toMatchObject({
        code: 'WRITER_FORBIDDEN',
      });
      expect(await store.head(absent)).toBeUndefined();
      expect(await expectSound(store, key)).toHaveLength(1);
      await mustAppend(store, key, [started(), toolEvent], run(0));
    });

    test('[WR3] an append by an outside writer is not fenced', async () => {
      const { store } = setup;
      const key = newKey();
      await openSession(store, key, { raisesEpoch: true });
      await mustAppend(store, key, [message('a')]);
      expect(await expectSound(store, key)).toHaveLength(2);
    });

    test('[WR4] an append that is restricted to some statuses lands in those, and otherwise reports the current status', async () => {
      const { store } = setup;
      const key = newKey();
      await openSession(store, key);
      expect(await append(store, key, [rawText('a')], { whileStatus: ['active', 'paused'] })).toEqual({
        outcome: 'status',
        status: 'open',
      });
      await mustAppend(store, key, [message('b', 'next')], { whileStatus: ['open', 'active'] });
      await mustAppend(store, key, [event('session.paused', {})], { whileStatus: ['active'] });
      expect(await append(store, key, [message('c')], { whileStatus: ['open', 'active'] })).toEqual({
        outcome: 'status',
        status: 'paused',
      });
      await mustAppend(store, key, [event('session.resumed', {})], { whileStatus: ['paused'] });
      expect(await expectSound(store, key)).toHaveLength(4);
    });

    test('[WR4] when appends restricted to unpaused sessions race with a pause, none of them lands after it', async () => {
      const key = newKey();
      const { other } = setup;
      await openSession(setup.store, key);
      const bound = { whileStatus: ['open', 'active'] } as const;
      const appends = Array.from({ length: 40 }, (_, i) => append(setup.store, key, [message(`${i}`)], bound));
      await Promise.all([...appends, mustAppend(other, key, [event('session.paused', {})])]);
      expect((await expectSound(other, key)).at(-1)).toMatchObject({ type: 'session.paused' });
    });
  });
