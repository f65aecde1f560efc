import { randomInt } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { afterEach, describe, expect, test } from 'vitest';
import { openRuntime } from '../../src/index.ts';
import { newStorePlace, type StorePlace, storeKinds } from '../support/stores/stores.ts';
import { type Appender, startAppender } from './appender-process.ts';
import { checkAfterCrash, checkWhole, figuresOf, newTrial } from './trial.ts';

const kills = Number(process.env.PERDURE_KILLS);

/**
 * Kills the process, mostly in the middle of appends, whatever the machine's speed. Every eighth kill happens while
 * the store opens after the previous kill.
 */
const killSoon = async (appender: Appender, round: number): Promise<void> => {
  if (round % 8 === 0) {
    await appender.next('opening');
    await pause(randomInt(0, 150));
  } else {
    await appender.next('acknowledged', randomInt(1, 100));
    await pause(randomInt(0, 50));
  }
  await appender.kill();
};

describe.each(storeKinds)('appending to %s', (kind) => {
  const places: StorePlace[] = [];
  const newPlace = async () => {
    const place = await newStorePlace(kind);
    places.push(place);
    return place;
  };
  afterEach(async () => {
    for (const place of places.splice(0)) await place.remove();
  });

  test('[LOG1, LOG2, LOG3, KEY1, FOLD1, FOLD5] a killed process loses no acknowledged event and leaves no partial append', async () => {
    const started = performance.now();
    const trial = newTrial((await newPlace()).address);
    for (let round = 1; round <= kills; round++) {
      const appender = startAppender(trial.address, round);
      await killSoon(appender, round);
      await checkAfterCrash(trial, appender.reports);
    }
    await checkWhole(trial);
    const seconds = Math.round((performance.now() - started) / 1000);
    console.log(`${kind}: ${kills} kills in ${seconds} s; ${figuresOf(trial)}`);
    expect(trial.acknowledged.length).toBeGreaterThan(kills);
  });

  test('[ST1, LOG3] a process killed while it creates the database leaves a database that opens', async () => {
    const calm = startAppender((await newPlace()).address, 0);
    const now = () => performance.now();
    const [began, done] = await Promise.all([calm.next('opening').then(now), calm.next('opened').then(now)]);
    await calm.kill();
    for (let round = 1; round <= kills / 8; round++) {
      const { address } = await newPlace();
      const appender = startAppender(address, round);
      await appender.next('opening');
      await pause((done - began) * Math.random());
      await appender.kill();
      await checkAfterCrash(newTrial(address), appender.reports);
      const runtime = await openRuntime({ store: address });
      const session = await runtime.sessions.open();
      await session.append({ role: 'user', content: 'still here?' });
      expect(await session.verify()).toMatchObject({ ok: true, events: 2 });
      await runtime.close();
    }
  });
});
