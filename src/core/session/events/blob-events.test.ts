import { expect, test } from 'vitest';
import type { z } from 'zod';
import { eventDefinitions } from '../../../schema/event.ts';
import { blobEventTypes } from './blob-events.ts';

test('[GC1] the list of blob events holds every event type with a tree or blob in its payload', () => {
  const naming = Object.entries(eventDefinitions).flatMap(([type, { payload }]) => {
    const { shape = {} } = payload as z.ZodType & { shape?: object };
    return 'tree' in shape || 'blob' in shape ? [type] : [];
  });
  expect(naming.toSorted()).toEqual([...blobEventTypes].toSorted());
});
