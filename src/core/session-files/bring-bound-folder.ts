import type { AgentAccess, WorktreeAccess, WriteAccess } from '../engine/scope.ts';
import { writeDecision } from '../engine/session-writer.ts';
import { makePlace, placeHere, type WorktreePlace } from '../files/disk/place.ts';
import { tryLock } from '../files/disk/place-lock.ts';
import type { SessionKey } from '../ports/store.ts';
import type { Tool } from '../ports/tool.ts';
import { agentName } from '../session/agent.ts';
import type { SessionFold } from '../session/fold.ts';
import { statusesThatAllow } from '../session/lifecycle.ts';
import { type FilesWriter, RunFiles } from './run-files.ts';

const lookMs = 50;

/** A writer that records the changes of a person's folder in the log while no run is in progress. */
const outsideWriter = (scope: WriteAccess, key: SessionKey): FilesWriter => {
  const fold = () => scope.folds.head(key);
  const decide: FilesWriter['decide'] = async (decideOn) => {
    const { events } = await writeDecision(scope, key, {
      read: async () => ({ fold: await fold() }),
      decide: async (newest) => ({ drafts: (await decideOn(newest)) ?? [], command: 'commit' }),
    });
    return events;
  };
  return { key, fold, decide, record: (...drafts) => decide(() => drafts) };
};

const isAtWork = ({ run, status }: SessionFold): boolean =>
  run !== undefined && run.waitingFor === undefined && status !== 'paused';

/** Locks the folder. Returns undefined if a run is in progress or begins meanwhile. */
const lockWhileIdle = async (
  scope: WriteAccess,
  key: SessionKey,
  place: WorktreePlace,
): Promise<Disposable | undefined> => {
  await makePlace(place);
  while (!isAtWork(await scope.folds.head(key))) {
    const lock = await tryLock(place);
    if (lock) return lock;
    await scope.clock.sleep(lookMs);
  }
  return undefined;
};

/**
 * Records the person's changes in the log, and updates the folder to the files in the log. Does nothing while a run is
 * in progress, because the run does both.
 */
export const bringBoundFolder = async (
  scope: WriteAccess & WorktreeAccess & AgentAccess,
  key: SessionKey,
): Promise<void> => {
  const fold = await scope.folds.head(key);
  if (!statusesThatAllow('commit').includes(fold.status)) return;
  const place = await placeHere(scope.data, key, fold.boundTo);
  const lock = place.isBound && (await lockWhileIdle(scope, key, place));
  if (!lock) return;
  const agent = fold.bound && scope.agents.get(agentName(fold.bound.agent));
  const tools = agent?.tools ?? new Map<string, Tool>();
  using files = new RunFiles({ scope, writer: outsideWriter(scope, key), place, tools, lock }, fold);
  await files.ready();
};
