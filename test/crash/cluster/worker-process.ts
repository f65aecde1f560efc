/** A worker in a process of its own, which tells every write that it tried as the writer of a run. Argument: its plan as JSON. */
import { openRuntime } from '../../../src/index.ts';
import { openStoreAt } from '../../open-store.ts';
import { overrideStore } from '../../override-store.ts';
import { addLine, clusterAgent, clusterModels } from './cluster-agent.ts';

export interface WorkerPlan {
  readonly address: string;
  /** What all processes tell is there. */
  readonly folder: string;
  /** Its machine's own. */
  readonly data: string;
  readonly leaseMs: number;
}

/** A write of a run that landed, or that was refused because another writer had taken over. */
export interface RunWrite {
  readonly session: string;
  /** That it was made under. */
  readonly epoch: number;
  readonly process: number;
  /** Empty when it was refused. */
  readonly events: readonly (readonly [seq: number, hash: string])[];
}

const { address, folder, data, leaseMs } = JSON.parse(process.argv[2]!) as WorkerPlan;
const store = await openStoreAt(address);
const telling = overrideStore(store, {
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
const runtime = await openRuntime({
  store: telling,
  data,
  agents: [clusterAgent(folder)],
  models: clusterModels,
  onWarning: (problem) => console.error(problem),
});
const worker = runtime.worker({ concurrency: 12, leaseMs, pollMs: 500 });
await worker.start();
process.once('SIGTERM', async () => {
  await worker.stop();
  await runtime.close();
  process.disconnect();
});
process.once('disconnect', () => process.exit());
process.send?.('ready');
