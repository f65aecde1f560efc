import type { Description } from '../../schema/description.ts';
import { eventDefinitions } from '../../schema/event.ts';
import { parseJson } from './read-input.ts';
import { wrongCall } from './wrong-call.ts';

/** Validates the title and other details of a new session before a store is opened. */
export const parseAbout = ({
  title,
  metadata,
  priority,
}: Readonly<Partial<Record<keyof Description, string | undefined>>>): Description => {
  const about = {
    ...(title !== undefined && { title }),
    ...(metadata !== undefined && { metadata: parseJson('--metadata', metadata) }),
    ...(priority !== undefined && { priority }),
  };
  const parsed = eventDefinitions['session.opened'].payload.safeParse(about);
  if (parsed.success) return about as Description;
  const problems = parsed.error.issues.map(({ path, message }) => `--${path.join('.')}: ${message}`);
  throw wrongCall(problems.slice(0, 3).join('; '));
};
