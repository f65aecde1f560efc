import { describe, expect, test } from 'vitest';
import { type EventType, eventDefinitions } from './event.ts';
import { eventCatalog } from './event-catalog.ts';

const types = Object.keys(eventDefinitions) as EventType[];

describe('the event catalogue', () => {
  test.each(types)('the example of %s is valid under the newest schema of that type', (type) => {
    expect(() => eventDefinitions[type].payload.parse(eventCatalog[type].example)).not.toThrow();
  });

  test('[WR3] names the run as the writer of every run, tool and model event', () => {
    const ofRuns = types.filter((type) => /^(run|tool|model)\./.test(type));
    expect(ofRuns.filter((type) => eventCatalog[type].writer !== 'run')).toEqual([]);
  });
});
