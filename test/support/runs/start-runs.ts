import {
  type AgentDefinition,
  defineAgent,
  openRuntime,
  type Runtime,
  type RuntimeOptions,
  type Session,
} from '../../../src/index.ts';
import { openMemoryStore } from '../../../src/testing/memory-store.ts';

export interface RunsSetup {
  readonly runtime: Runtime;
  readonly session: Session;
  /** The types of all events so far, in order. */
  types(): Promise<readonly string[]>;
}

/** A session whose agent runs in this process, on a store that is removed after the test. */
export const startRuns = async (
  agent: Partial<AgentDefinition> & Pick<AgentDefinition, 'model'>,
  options: Pick<RuntimeOptions, 'clock' | 'onWarning'> = {},
): Promise<RunsSetup> => {
  const defined = defineAgent({ name: 'tester', version: 1, ...agent });
  const runtime = await openRuntime({
    store: openMemoryStore(),
    agents: [defined],
    worker: false,
    timing: { modelBackoffMs: 1 },
    ...options,
  });
  await runtime.worker().start();
  const session = await runtime.sessions.open({ agent: defined });
  const types = async () => (await Array.fromAsync(session.events())).map(({ type }) => type);
  return { runtime, session, types };
};
