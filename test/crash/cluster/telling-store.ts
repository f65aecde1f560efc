import type { RuntimeStore } from '../../../src/core/ports/runtime-store.ts';
import { overrideStore } from '../../support/stores/override-store.ts';
import { addLine } from './cluster-agent.ts';

/** A run writer's append that landed, or that was fenced because another writer had claimed the session. */
export interface RunWrite {
  readonly session: string;
  /** The epoch under which the append was made. */
  readonly epoch: number;
  readonly process: number;
  /** Empty when the append was fenced. */
  readonly events: readonly (readonly [seq: number, hash: string])[];
}

/** Records every append of a run writer in a file of the folder. */
export const tellingStore = (store: RuntimeStore, folder: string): RuntimeStore =>
  overrideStore(store, {
    append: async (request) => {
      const outcome = await store.append(request);
      const { writer, session, raisesEpoch } = request;
      if (writer.kind === 'run' && (outcome.outcome === 'appended' || outcome.outcome === 'fenced')) {
        const write: RunWrite = {
          session,
          epoch: writer.epoch + (raisesEpoch ? 1 : 0),
          process: process.pid,
          events:
            outcome.outcome === 'fenced'
              ? []
              : outcome.events.map(({ seq, hash }) => [seq, Buffer.from(hash).toString('hex')] as const),
        };
        addLine(folder, 'writes', JSON.stringify(write));
      }
      return outcome;
    },
  });
