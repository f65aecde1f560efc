import { z } from 'zod';
import { type EventType, eventDefinitions, eventHeader } from '../event.ts';
import { WorkspaceId } from '../ids.ts';

const viewOf = (type: EventType) =>
  eventHeader.extend({
    workspace: WorkspaceId,
    type: z.literal(type),
    payload: eventDefinitions[type].payload as z.ZodType,
    hash: z.string(),
    imported: z.literal(true).optional(),
  });

const [first, ...others] = (Object.keys(eventDefinitions) as EventType[]).map(viewOf);

/** An event as readers see it, with a typed payload in the newest version of its type. */
export const EventView = z.discriminatedUnion('type', [first!, ...others]).meta({ id: 'Event' });
export const EventPage = z.strictObject({
  events: z.array(EventView),
  /** The cursor of the next page: the seq of the last event of this page. */
  after: z.int().nonnegative(),
  /** Whether the log had more events when this page was read. */
  more: z.boolean(),
});
