import type { EventType, PayloadOf } from '../../../schema/event.ts';
import { actorOfImported } from '../../../schema/ids.ts';
import { lowestProvenance, type Provenance } from '../../../schema/state.ts';
import type { StoredEvent } from '../../ports/store.ts';

const lowered = (provenance: Provenance): Provenance => lowestProvenance([provenance, 'imported']);

type Imported = { readonly [Type in EventType]?: (payload: PayloadOf<Type>) => PayloadOf<Type> };

/** What a store makes of payloads from a bundle, because no member of the store vouches for them. */
const received: Imported = {
  'state.committed': (commit) => ({
    ...commit,
    ...(commit.provenance && { provenance: lowered(commit.provenance) }),
    ...(commit.entryProvenance && {
      entryProvenance: Object.fromEntries(
        Object.entries(commit.entryProvenance).map(([path, provenance]) => [path, lowered(provenance)]),
      ),
    }),
  }),
  'approval.settled': (settled) => ({ ...settled, answer: 'imported' }),
  // A member of another store neither holds nor sees the session here, even if a member here has the same name.
  'session.handed': ({ member: _, ...handed }) => handed,
  'input.admitted': (input) => (input.from ? { ...input, from: { ...input.from, role: 'member' } } : input),
};

/** The payload of an event as this store reads it. The stored bytes, and so the hash, stay as they were written. */
export const importedPayload = <T extends EventType>(type: T, payload: PayloadOf<T>): PayloadOf<T> =>
  (received[type] as ((payload: PayloadOf<T>) => PayloadOf<T>) | undefined)?.(payload) ?? payload;

/** An event with the actor as this store reads it. The hash covers the actor that was written. */
export const withReadActor = (event: StoredEvent): StoredEvent =>
  event.imported ? { ...event, actor: actorOfImported(event.actor) } : event;
