import type { SessionEvent } from '../../../schema/event.ts';
import { lowestProvenance, type Provenance } from '../../../schema/state.ts';

/** The provenance of the information that an event adds. Undefined if it adds none. */
export const provenanceOf = (event: SessionEvent): Provenance | undefined => {
  const provenance = writtenProvenance(event);
  return provenance && event.imported ? lowestProvenance([provenance, 'imported']) : provenance;
};

const writtenProvenance = (event: SessionEvent): Provenance | undefined => {
  switch (event.type) {
    case 'message.appended':
      if (event.actor.startsWith('importer:')) return 'imported';
      if (event.payload.message.role === 'user') return event.actor.startsWith('member:') ? 'human' : 'unverified';
      // For a message of a run, the event `tool.completed` is used instead, because it records whether the tool is
      // trusted.
      return event.payload.message.role === 'tool' && !event.run ? 'unverified' : undefined;
    case 'tool.completed':
      return event.payload.trusted ? 'verified' : 'unverified';
    case 'tool.failed':
      return 'unverified';
    case 'state.committed':
      return lowestProvenance([
        event.payload.provenance ?? 'unverified',
        ...Object.values(event.payload.entryProvenance ?? {}),
      ]);
    default:
      return undefined;
  }
};

/**
 * Whether an event is an input that the model draws conclusions from. Commits are excluded, because the model makes
 * them itself.
 */
export const isTurnInput = ({ type }: SessionEvent): boolean => type !== 'state.committed';
