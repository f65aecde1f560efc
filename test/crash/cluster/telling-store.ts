import type { RuntimeStore } from '../../../src/core/ports/runtime-store.ts';
import { overrideStore } from '../../support/stores/override-store.ts';
import { addLine } from './cluster-agent.ts';

/** A write of a run that landed, or that was refused because another writer had taken over. */
export interface RunWrite {
  readonly session: string;
  /** That it was made under. */
  readonly epoch: number;
  readonly process: number;
  /** Empty when it was refused. */
  readonly events: readonly (readonly [seq: number, hash: string])[];
}

/** Tells every write that was tried as the writer of a run, in a file of the folder. */
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
