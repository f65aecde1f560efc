import { describe, expect, test } from 'vitest';
import { type Switch, stopBusyRuns, switches } from '../support/runs/busy-runs.ts';
import { storeKinds } from '../support/stores/stores.ts';

const tries = 200;

describe.each(storeKinds)('on %s', (kind) => {
  test.each(Object.keys(switches) as Switch[])(
    '[RUN41] %s stops a run with many quick calls at every try',
    async (which) => {
      expect(await stopBusyRuns(kind, which, tries, 200)).toBe(tries);
    },
  );
});
