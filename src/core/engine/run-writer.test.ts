import { expect, test } from 'vitest';
import { openRuntime } from '../../runtime.ts';
import type { EventDraft } from '../../schema/event.ts';
import { type Actor, newId, type WorkspaceId } from '../../schema/ids.ts';
import { openMemoryStore } from '../../testing/memory-store.ts';
import { systemRandom } from '../ports/random.ts';
import type { AppendRequest, Store } from '../ports/store.ts';
import { systemTimekeeper } from '../ports/timekeeper.ts';
import { nothingSecret } from '../session/redaction/redact.ts';
import { RunWriter } from './run-writer.ts';
import type { WriteAccess } from './scope.ts';
import { defaultSnapshotPolicy, SessionFolds } from './session-folds.ts';

const writeAccess = (store: Store, folds: SessionFolds): WriteAccess =>
  ({
    store,
    folds,
    secrets: { redactor: async () => nothingSecret },
    clock: systemTimekeeper(),
    random: systemRandom,
    onAppended: () => undefined,
  }) as unknown as WriteAccess;

const message = (text: string): EventDraft => ({
  type: 'message.appended',
  payload: { message: { id: newId('msg'), role: 'user', content: [{ type: 'text', text }] } },
  actor: 'member:local' as Actor,
  turn: 'current',
});

test('[RUN46] decisions that wait together are one append, each on the fold of the ones before it', async () => {
  const store = openMemoryStore();
  const runtime = await openRuntime({ store });
  const session = await runtime.sessions.open();
  const key = { workspace: 'local' as WorkspaceId, session: session.id };
  let appends = 0;
  const counted = Object.assign(Object.create(store), {
    append: (request: AppendRequest) => {
      appends += 1;
      return store.append(request);
    },
  });
  const folds = new SessionFolds(store, defaultSnapshotPolicy, () => undefined);
  const writer = new RunWriter(writeAccess(counted, folds), key);
  await writer.claim(() => [message('first')]);
  appends = 0;
  const counts: number[] = [];
  const kept = await folds.head(key);
  const results = await Promise.allSettled(
    Array.from({ length: 5 }, (_, index) =>
      writer.decide(({ messages, seq }) => {
        counts.push(messages);
        if (index === 1) throw new RangeError('this one fails alone');
        if (index === 2) return undefined;
        return index === 3 ? [message('x'.repeat(300_000))] : [message(`${index} on ${seq}`)];
      }),
    ),
  );
  expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled', 'fulfilled', 'fulfilled']);
  // The large decision does not fit, so it is decided again for an append of its own.
  expect(counts).toEqual([1, 2, 2, 2, 2, 3, 3]);
  expect(appends).toBe(3);
  expect(results.map((each) => (each.status === 'fulfilled' ? each.value.length : 0))).toEqual([1, 0, 0, 1, 1]);
  expect(kept.messages).toBe(1);
  expect(await session.verify()).toMatchObject({ ok: true });
  await runtime.close();
});

test('[FOLD6] a run whose fold was replaced by an older one still reads its own writes', async () => {
  const store = openMemoryStore();
  const runtime = await openRuntime({ store });
  const session = await runtime.sessions.open();
  const key = { workspace: 'local' as WorkspaceId, session: session.id };
  const folds = new SessionFolds(store, defaultSnapshotPolicy, (problem) => {
    throw problem;
  });
  const opened = await folds.head(key);
  let isReplaced = false;
  folds.recent = async () => (isReplaced ? opened : folds.head(key));
  const writer = new RunWriter(writeAccess(store, folds), key);
  await writer.claim(() => [
    {
      type: 'message.appended',
      payload: {
        message: { id: 'msg_01m7jn7b4146jf3n8ccdbc9np6', role: 'user', content: [{ type: 'text', text: 'x' }] },
      },
      actor: 'member:local',
      turn: 'next',
    } as never,
  ]);
  isReplaced = true;
  expect(writer.writtenTo).toBeGreaterThan(opened.seq);
  expect((await writer.fold()).seq).toBe(writer.writtenTo);
  await runtime.close();
});
