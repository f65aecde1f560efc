import { z } from 'zod';
import { type EventType, eventDefinitions, eventHeader } from '../event.ts';
import { WorkspaceId } from '../ids.ts';

const viewOf = (type: EventType) =>
  eventHeader.extend({
    workspace: WorkspaceId,
    type: z.literal(type),
    payload: eventDefinitions[type].payload as z.ZodType,
    hash: z.string(),
  });

const [first, ...others] = (Object.keys(eventDefinitions) as EventType[]).map(viewOf);

/** An event of a log as everyone reads it. */
export const EventView = z.discriminatedUnion('type', [first!, ...others]).meta({ id: 'Event' });
export const EventPage = z.strictObject({
  events: z.array(EventView),
  /** Where the next page goes on: the seq of the last event of this one. */
  after: z.int().nonnegative(),
  /** Whether there was more when this was read. */
  more: z.boolean(),
});
