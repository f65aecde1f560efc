import { describe, expect, test } from 'vitest';
import { maxNoteBytes, type Notes } from '../../../core/ports/notes.ts';
import { type ContractSetup, newKey } from '../contract-setup.ts';
import { newWakeSignal } from './wake-signal.ts';

/** Listens for notes. Resolves when listening has begun. */
const hearing = async (store: Notes) => {
  const [signal, begun] = [newWakeSignal(), newWakeSignal()];
  const texts: string[] = [];
  const stop = store.hearNotes(({ workspace, session }, text) => {
    texts.push(`${workspace} ${session} ${text}`);
    signal.wake();
  }, begun.wake);
  await begun.next();
  const until = async (count: number) => {
    while (texts.length < count) await signal.next();
  };
  return { texts, stop, until };
};

const describeLost = (setup: ContractSetup) =>
  test('[NOTE1, NOTE3] a store that loses notes drops them without an error', () => {
    const stop = setup.other.hearNotes(expect.fail, expect.fail);
    setup.store.sendNote(newKey(), 'lost');
    stop();
  });

const describeHeard = (setup: ContractSetup) => {
  test('[NOTE1, NOTE3] every other store on the database receives each note, in order and unchanged, and the sender does not', async () => {
    const stores = [setup.store, setup.other, await setup.open()];
    const [own, ...others] = await Promise.all(stores.map(hearing));
    const key = newKey();
    const notes = ['a/b', '', '☃ \u0000 \n "\ud83d\ude00', 'x'.repeat(maxNoteBytes), 'last'].map((text) =>
      JSON.stringify(text).slice(0, maxNoteBytes),
    );
    for (const note of notes) setup.store.sendNote(key, note);
    for (const { until, texts } of others) {
      await until(notes.length);
      expect(texts).toEqual(notes.map((note) => `${key.workspace} ${key.session} ${note}`));
    }
    stores[1]!.sendNote(key, 'from elsewhere');
    await own!.until(1);
    expect(own!.texts).toEqual([`${key.workspace} ${key.session} from elsewhere`]);
    for (const { stop } of [own!, ...others]) stop();
  });

  test('[NOTE1] only a note that is too long is dropped, and a stopped listener receives no further notes', async () => {
    const [stopped, stays] = [await hearing(setup.other), await hearing(setup.other)];
    const key = newKey();
    stopped.stop();
    for (const note of ['before', '☃'.repeat(maxNoteBytes / 2), 'after']) setup.store.sendNote(key, note);
    await stays.until(2);
    expect(stays.texts.map((text) => text.split(' ')[2])).toEqual(['before', 'after']);
    expect(stopped.texts).toEqual([]);
    stays.stop();
  });
};

export const describeNotes = (setup: ContractSetup, losesNotes: true | undefined) =>
  describe('notes', () => (losesNotes ? describeLost : describeHeard)(setup));
