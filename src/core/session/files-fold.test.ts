import { expect, test } from 'vitest';
import type { EventType, PayloadOf, SessionEvent } from '../../schema/event.ts';
import { type FilesFold, foldFiles, noFiles } from './files-fold.ts';

type Step = { [T in EventType]: readonly [T, Partial<PayloadOf<T>>] }[EventType];

const foldOf = (...steps: readonly Step[]): FilesFold =>
  steps.reduce<FilesFold>(
    (fold, [type, payload], index) => foldFiles(fold, { type, payload, seq: index + 1 } as SessionEvent),
    noFiles,
  );

const call = { tool: 'act', callId: 'call_1' };
const untoldAfter = (...steps: readonly Step[]) => foldOf(['tool.called', call], ...steps).untoldCalls;

test('[FILE21] a cancelled call is listed as unrecorded until a snapshot names it as the cause', () => {
  const cancelled: Step = ['tool.failed', { ...call, outcome: 'cancelled' }];
  const untold = [{ ...call, seq: 1, endedAt: 2 }];
  expect(untoldAfter(cancelled)).toEqual(untold);
  expect(untoldAfter(cancelled, ['files.snapshotted', { tree: 'a' }])).toEqual(untold);
  const another = { tool: 'act', callId: 'call_2' };
  expect(untoldAfter(cancelled, ['files.snapshotted', { tree: 'a', cause: another }])).toEqual(untold);
  expect(untoldAfter(cancelled, ['files.snapshotted', { tree: 'a', cause: call }])).toEqual([]);
});

test('[FILE21] a call that runs again after its snapshot is listed as unrecorded again', () => {
  const told: Step = ['files.snapshotted', { tree: 'a', cause: call }];
  expect(untoldAfter(told)).toEqual([{ ...call, seq: 1 }]);
  expect(untoldAfter(told, ['tool.failed', { ...call, outcome: 'interrupted' }])).toEqual([
    { ...call, seq: 1, endedAt: 3 },
  ]);
  expect(untoldAfter(told, ['tool.completed', call])).toEqual([]);
});

test('[FILE21] running calls never displace a cancelled one, and only the newest cancelled ones are kept', () => {
  const cancelled: Step = ['tool.failed', { ...call, outcome: 'cancelled' }];
  const calls = Array.from({ length: 20 }, (_, n) => ({ tool: 'look', callId: `call_${n + 2}` }));
  const begun = calls.map((each): Step => ['tool.called', each]);
  expect(untoldAfter(cancelled, ...begun).map(({ callId }) => callId)).toEqual(
    [call, ...calls].map(({ callId }) => callId),
  );
  const ended = calls.map((each): Step => ['tool.failed', { ...each, outcome: 'cancelled' }]);
  expect(untoldAfter(cancelled, ...begun, ...ended).map(({ callId }) => callId)).toEqual(
    calls.slice(-16).map(({ callId }) => callId),
  );
});
