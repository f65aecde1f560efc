import { describe, expect, test } from 'vitest';
import { type EventType, eventDefinitions } from './event.ts';
import { eventCatalog } from './event-catalog.ts';

const types = Object.keys(eventDefinitions) as EventType[];

describe('the catalogue of events', () => {
  test.each(types)('the example of %s is a payload of its newest version', (type) => {
    expect(() => eventDefinitions[type].payload.parse(eventCatalog[type].example)).not.toThrow();
  });

  test('[WR3] leaves to runs what the store takes from runs alone', () => {
    const ofRuns = types.filter((type) => /^(run|tool|model)\./.test(type));
    expect(ofRuns.filter((type) => eventCatalog[type].writer !== 'run')).toEqual([]);
  });
});
