import type { SessionEvent } from '../../../schema/event.ts';
import { lowestProvenance, type Provenance } from '../../../schema/state.ts';

/** How far what an event brings in can be relied on; undefined when it brings nothing in. */
export const provenanceOf = (event: SessionEvent): Provenance | undefined => {
  switch (event.type) {
    case 'message.appended':
      if (event.actor.startsWith('importer:')) return 'imported';
      if (event.payload.message.role === 'user') return event.actor.startsWith('member:') ? 'human' : 'unverified';
      // What a run's tool gave is told by the journal, which knows whether the tool is trusted.
      return event.payload.message.role === 'tool' && !event.run ? 'unverified' : undefined;
    case 'tool.completed':
      return event.payload.trusted ? 'verified' : 'unverified';
    case 'tool.failed':
      return 'unverified';
    case 'state.committed':
      return lowestProvenance([event.payload.provenance, ...Object.values(event.payload.entryProvenance ?? {})]);
    default:
      return undefined;
  }
};

/** Whether it counts among a turn's inputs, from which the model concludes. What the model commits is no input to itself. */
export const isTurnInput = ({ type }: SessionEvent): boolean => type !== 'state.committed';
