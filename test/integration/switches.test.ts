import { describe, expect, test } from 'vitest';
import { type Switch, stopBusyRuns, switches } from '../support/runs/busy-runs.ts';
import { storeKinds } from '../support/stores/stores.ts';

const tries = 3;

describe.each(storeKinds)('on %s', (kind) => {
  test.each(Object.keys(switches) as Switch[])(
    '[LIFE2, LOG4, RUN41] %s stops a run with many quick calls at every try',
    async (which) => {
      expect(await stopBusyRuns(kind, which, tries, 80)).toBe(tries);
    },
  );
});
