import { describe, expect, test } from 'vitest';
import { openRuntime } from '../../runtime.ts';
import { newId, systemActor, type WorkspaceId } from '../../schema/ids.ts';
import { newMemoryDatabase } from '../../testing/memory-database.ts';
import { openMemoryStore } from '../../testing/memory-store.ts';
import { payloadDigest } from '../session/chain.ts';

const workspace = 'local' as WorkspaceId;
const hello = JSON.stringify({
  message: { id: newId('msg'), role: 'user', content: [{ type: 'text', text: 'hello' }] },
});

/** A session whose event 2 has this payload, chained as any other. */
const withPayload = async (payload: string) => {
  const database = newMemoryDatabase();
  const store = openMemoryStore(database);
  const { sessions } = await openRuntime({ store });
  const session = await sessions.open();
  const event = { type: 'message.appended', version: 1, turn: 'next', actor: systemActor } as const;
  const events = [{ ...event, payload: new TextEncoder().encode(payload) }] as const;
  await store.append({ workspace, session: session.id, writer: { kind: 'outside' }, at: 1, events });
  return { database, session, row: database.workspaces.get(workspace)!.sessions.get(session.id)! };
};

describe('verify', () => {
  test.each(['{}', 'no JSON', '{"message":"\\u0000"}'])(
    '[HASH4] names an event whose payload %s does not fit its type, though the chain holds',
    async (payload) => {
      const { session } = await withPayload(payload);
      expect(await session.verify()).toMatchObject({ ok: false, events: 1, bad: { seq: 2 } });
    },
  );

  test('[HASH3, HASH4] takes a payload that was redacted as it is', async () => {
    const { session, row } = await withPayload('{}');
    const event = row.events.get(2)!;
    if (event.body.kind !== 'bytes') throw new Error('it was redacted before');
    const digest = payloadDigest(event.body.salt, event.body.bytes);
    row.events.set(2, { ...event, body: { kind: 'redacted', digest } });
    expect(await session.verify()).toMatchObject({ ok: true, events: 2 });
  });

  test('[HASH4] finds a session that names another parent, and one of another family', async () => {
    const { session, row, database } = await withPayload(hello);
    const child = await session.fork({ at: { seq: 1 } });
    const sibling = await session.fork({ at: { seq: 1 } });
    expect(await child.verify()).toMatchObject({ ok: true, events: 2 });
    const forked = database.workspaces.get(workspace)!.sessions.get(child.id)!;
    const { head } = forked;
    forked.head = { ...head, parent: { session: sibling.id, seq: 1 } };
    expect(await child.verify()).toMatchObject({
      ok: false,
      bad: { seq: 2, reason: expect.stringContaining('parent') },
    });
    forked.head = { ...head, root: sibling.id };
    expect(await child.verify()).toMatchObject({
      ok: false,
      bad: { seq: 2, reason: expect.stringContaining('family') },
    });
    expect(row.head.root).toBe(session.id);
  });
});
