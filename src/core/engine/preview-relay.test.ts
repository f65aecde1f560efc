import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { newKey } from '../../testing/contract/contract-setup.ts';
import { newMemoryDatabase } from '../../testing/memory-database.ts';
import { openMemoryStore } from '../../testing/memory-store.ts';
import { maxNoteBytes, type Notes } from '../ports/notes.ts';
import type { SessionKey } from '../ports/store.ts';
import { systemTimekeeper } from '../ports/timekeeper.ts';
import type { Preview } from './preview.ts';
import { Previews } from './previews.ts';

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
});
afterEach(() => void vi.useRealTimers());

/** Processes on one store. `sent` holds the notes that the first process sent to the others. */
const start = (count: number) => {
  const database = newMemoryDatabase();
  const sent: string[] = [];
  const [worker, ...others] = Array.from({ length: count }, (_, n) => {
    const store = openMemoryStore(database);
    const notes: Notes = {
      hearNotes: store.hearNotes,
      sendNote: (key, text) => {
        if (n === 0) sent.push(text);
        store.sendNote(key, text);
      },
    };
    return new Previews(notes, systemTimekeeper(), new AbortController().signal);
  });
  return { worker: worker!, others, sent, shown: () => sent.filter((text) => text.includes('"shown"')) };
};

const looking = (previews: Previews, key: SessionKey) => {
  const seen: Preview[] = [];
  const stop = previews.listen(key, (preview) => seen.push(preview));
  const deltas = () => seen.flatMap((each) => (each.type === 'delta' ? [each] : []));
  return {
    seen,
    stop,
    deltas,
    text: () =>
      deltas()
        .map(({ text }) => text)
        .join(''),
  };
};

const write = (previews: Previews, key: SessionKey, text: string, message = 'm1') =>
  previews.tell(key, { type: 'delta', message, kind: 'text', text });

const pass = (ms = 100) => vi.advanceTimersByTimeAsync(ms);

test('[RUN27] while no other process listens, no process sends text', async () => {
  const { worker, others, sent, shown } = start(2);
  const [key, other] = [newKey(), newKey()];
  looking(worker, key);
  looking(others[0]!, other);
  for (let n = 0; n < 100; n++) {
    write(worker, key, 'secret');
    await pass(50);
  }
  expect(shown()).toEqual([]);
  expect(sent.filter((text) => text.includes('hail')).length).toBeLessThanOrEqual(3);
});

test('[RUN20] a listener in another process gets all text in order, about ten times a second', async () => {
  const { worker, others, shown } = start(2);
  const key = newKey();
  const look = looking(others[0]!, key);
  await pass();
  for (let n = 0; n < 1000; n++) {
    write(worker, key, `${n} `);
    await pass(5);
  }
  worker.tell(key, { type: 'progress', callId: 'c1', text: 'half' });
  await pass();
  expect(look.text()).toBe(Array.from({ length: 1000 }, (_, n) => `${n} `).join(''));
  expect(look.seen.at(-1)).toEqual({ type: 'progress', callId: 'c1', text: 'half' });
  expect(shown().length).toBeLessThanOrEqual(52);
});

test('[RUN20] a late listener first gets the text so far, and no listener gets anything twice', async () => {
  const { worker, others } = start(3);
  const key = newKey();
  const looks = [looking(others[0]!, key)];
  await pass();
  write(worker, key, 'one ');
  await pass();
  looks.push(looking(others[0]!, key), looking(others[1]!, key));
  write(worker, key, 'two ');
  await pass();
  looks.push(looking(others[1]!, key));
  await pass();
  write(worker, key, 'three');
  await pass();
  for (const look of looks) {
    expect(look.text()).toBe('one two three');
    expect(look.deltas()[0]!.offset).toBe(0);
  }
  worker.over(key);
  const late = looking(others[1]!, key);
  await pass();
  expect(late.seen).toEqual([]);
  write(worker, key, 'next', 'm2');
  await pass();
  for (const look of [...looks, late])
    expect(look.deltas().at(-1)).toMatchObject({ message: 'm2', offset: 0, text: 'next' });
});

test('[RUN20] after the last listener has left, sending ends within two hails', async () => {
  const { worker, others, shown } = start(2);
  const key = newKey();
  const look = looking(others[0]!, key);
  const writeFor = async (ms: number) => {
    for (let n = 0; n < ms / 100; n++) {
      write(worker, key, 'x');
      await pass();
    }
  };
  await writeFor(3000);
  expect(look.text().length).toBeGreaterThan(20);
  look.stop();
  await writeFor(4500);
  const before = shown().length;
  await writeFor(3000);
  expect(shown()).toHaveLength(before);
});

test('[RUN20, RUN27] text of any size and kind fits into notes; if a text is too long, its newest part is sent with its offset', async () => {
  const { worker, others, sent } = start(2);
  const key = newKey();
  const text = '☃\u0000\ud83d\ude00"\n'.repeat(5000);
  write(worker, key, text);
  const look = looking(others[0]!, key);
  await pass();
  await pass();
  expect(look.text()).toBe(text);
  write(worker, key, 'y'.repeat(100_000));
  const late = looking(others[0]!, key);
  await pass();
  expect(late.deltas()[0]!.offset).toBe(text.length + 100_000 - 64 * 1024);
  expect(late.text()).toBe('y'.repeat(64 * 1024));
  for (const note of sent) expect(Buffer.byteLength(note)).toBeLessThanOrEqual(maxNoteBytes);
});
