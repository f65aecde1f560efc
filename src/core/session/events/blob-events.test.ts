import { expect, test } from 'vitest';
import type { z } from 'zod';
import { eventDefinitions } from '../../../schema/event.ts';
import { blobEventTypes } from './blob-events.ts';

test('[GC1] every event that has a tree or a blob in its payload is known to name one', () => {
  const naming = Object.entries(eventDefinitions).flatMap(([type, { payload }]) => {
    const { shape = {} } = payload as z.ZodType & { shape?: object };
    return 'tree' in shape || 'blob' in shape ? [type] : [];
  });
  expect(naming.toSorted()).toEqual([...blobEventTypes].toSorted());
});
