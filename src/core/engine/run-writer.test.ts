import { expect, test } from 'vitest';
import { openRuntime } from '../../runtime.ts';
import type { WorkspaceId } from '../../schema/ids.ts';
import { openMemoryStore } from '../../testing/memory-store.ts';
import { systemRandom } from '../ports/random.ts';
import { systemTimekeeper } from '../ports/timekeeper.ts';
import { nothingSecret } from '../session/redaction/redact.ts';
import { RunWriter } from './run-writer.ts';
import type { WriteAccess } from './scope.ts';
import { defaultSnapshotPolicy, SessionFolds } from './session-folds.ts';

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
  const writer = new RunWriter(
    {
      store,
      folds,
      secrets: { redactor: async () => nothingSecret },
      clock: systemTimekeeper(),
      random: systemRandom,
      onAppended: () => undefined,
    } as unknown as WriteAccess,
    key,
  );
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
