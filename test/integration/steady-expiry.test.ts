import { afterEach, describe, expect, test } from 'vitest';
import { openRuntime } from '../../src/index.ts';
import { newStorePlace, storeKinds } from '../support/stores/stores.ts';

const undo: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const each of undo.splice(0).reverse()) await each();
});

const hour = 60 * 60_000;

describe.each(storeKinds)('expiry on %s', (kind) => {
  test('[PDK3] a key that nobody presented while it was expired stays expired when the clock goes back', async () => {
    const place = await newStorePlace(kind);
    undo.push(() => place.remove());
    const began = Date.now();
    let now = began;
    const opened = () => openRuntime({ store: place.address, clock: { now: () => now }, worker: false });
    const first = await opened();
    undo.push(() => first.close());
    const [lasting, unused] = [await first.keys.create(), await first.keys.create({ expiresAt: began + hour })];
    expect(await first.authenticate(unused.token)).toBeDefined();
    now += 2 * hour;
    expect(await first.authenticate(lasting.token)).toBeDefined();
    now = began;
    expect(await first.authenticate(unused.token)).toBeUndefined();
    const second = await opened();
    undo.push(() => second.close());
    expect(await second.authenticate(unused.token), 'in another process').toBeUndefined();
    expect(await second.authenticate(lasting.token)).toBeDefined();
    const { token, key } = await second.keys.createToken({ member: 'local', parent: lasting.key.id });
    expect(key.expiresAt! - key.createdAt, 'a new token lasts as long as it should').toBe(hour / 4);
    expect(await second.authenticate(token)).toBeDefined();
  });
});
