import { randomBytes } from 'node:crypto';
import { afterAll, describe, expect, onTestFinished, test } from 'vitest';
import { askPostgres } from '../../../../test/support/postgres/ask-postgres.ts';
import { newPgClient } from '../../../../test/support/postgres/pg-client.ts';
import { createDatabase } from '../../../../test/support/postgres/postgres.ts';
import { maxNoteBytes } from '../../../core/ports/notes.ts';
import { newKey, newWorkspace } from '../../../testing/contract/contract-setup.ts';
import { newWakeSignal } from '../../../testing/contract/waking/wake-signal.ts';
import { openPostgresStore } from '../index.ts';
import { noteChannel } from './note-post.ts';
import { NoteSeal } from './note-seal.ts';

describe('sealed notes', () => {
  test('[NOTE2] a sealed note can be opened by other holders of the key, once and in order, but not by its sender', () => {
    const key = randomBytes(32);
    const [sender, hearer, stranger] = [new NoteSeal(key), new NoteSeal(key), new NoteSeal(randomBytes(32))];
    const [first, second] = [sender.seal('first'), sender.seal('☃')];
    expect([first, second, first, second].map((note) => hearer.open(note))).toEqual([
      'first',
      '☃',
      undefined,
      undefined,
    ]);
    for (const seal of [sender, stranger]) expect(seal.open(first)).toBeUndefined();
  });

  test('[NOTE2] a note with any bit changed, or one that was never sealed, cannot be opened', () => {
    const key = randomBytes(32);
    const [sender, hearer] = [new NoteSeal(key), new NoteSeal(key)];
    const bytes = Buffer.from(sender.seal('x'), 'base64');
    for (let bit = 0; bit < bytes.length * 8; bit++) {
      const changed = Buffer.from(bytes);
      changed[bit >> 3]! ^= 1 << (bit & 7);
      expect(hearer.open(changed.toString('base64'))).toBeUndefined();
    }
    for (const text of ['', 'x', 'a/b/c/{"type":"hail"}', 'A'.repeat(7000)]) expect(hearer.open(text)).toBeUndefined();
    expect(hearer.open(bytes.toString('base64'))).toBe('x');
  });

  test('[NOTE1] the longest note in the workspace with the longest name fits into a notification', () => {
    const note = `${'w'.repeat(63)}/${newKey().session}/${'x'.repeat(maxNoteBytes)}`;
    expect(new NoteSeal(randomBytes(32)).seal(note).length).toBeLessThan(8000);
  });
});

describe('a role that may only connect', async () => {
  const database = await createDatabase();
  const role = `stranger_${new URL(database.url).pathname.slice(1)}`;
  await askPostgres(database.adminUrl, `create role ${role} login password 's'`);
  afterAll(async () => {
    await askPostgres(database.adminUrl, `drop role ${role}`);
    await database.drop();
  });

  test('[NOTE2, TEN2] a role that may only connect cannot read notes or their key, and its forged or replayed notes are ignored', async () => {
    const stores = await Promise.all([1, 2].map(() => openPostgresStore({ url: database.url })));
    const stranger = newPgClient(Object.assign(new URL(database.url), { username: role, password: 's' }).href);
    await stranger.connect();
    onTestFinished(() => stranger.end());
    const overheard: string[] = [];
    stranger.on('notification', ({ payload = '' }) => overheard.push(payload));
    await stranger.query(`listen ${noteChannel}`);
    await expect(stranger.query('select key from perdure.note_key')).rejects.toThrow('permission denied');

    const [heard, begun] = [newWakeSignal(), newWakeSignal()];
    const texts: string[] = [];
    stores[1]!.hearNotes((_, text) => {
      texts.push(text);
      heard.wake();
    }, begun.wake);
    await begun.next();
    const key = newKey(newWorkspace());
    stores[0]!.sendNote(key, 'the code is 0000');
    await heard.next();
    await expect.poll(() => overheard).toHaveLength(1);
    for (const secret of ['0000', key.session, key.workspace]) {
      expect(Buffer.from(overheard[0]!, 'base64').includes(secret)).toBe(false);
      expect(overheard[0]).not.toContain(secret);
    }
    const forged = `000000000000/${key.workspace}/${key.session}/forged`;
    for (const text of [forged, Buffer.from(forged).toString('base64'), overheard[0]!]) {
      await stranger.query('select pg_notify($1, $2)', [noteChannel, text]);
    }
    stores[0]!.sendNote(key, 'last');
    await heard.next();
    expect(texts).toEqual(['the code is 0000', 'last']);
    for (const store of stores) await store.close();
  });
});
