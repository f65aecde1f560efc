import { setTimeout as sleep } from 'node:timers/promises';
import type { EventDraft } from '../../schema/event.ts';
import { appendDrafts, onTopOf } from '../engine/append-drafts.ts';
import { refusal } from '../engine/execute.ts';
import type { Scope } from '../engine/scope.ts';
import { untilItLands } from '../engine/until-it-lands.ts';
import { makePlace, placeHere, type WorktreePlace } from '../files/disk/place.ts';
import { tryLock } from '../files/disk/place-lock.ts';
import type { SessionKey } from '../ports/store.ts';
import type { Tool } from '../ports/tool.ts';
import { agentName } from '../session/agent.ts';
import type { SessionFold } from '../session/fold.ts';
import { statusesThatAllow } from '../session/lifecycle.ts';
import { type FilesWriter, RunFiles } from './run-files.ts';

const lookMs = 50;

/** Writes the changes of a person's folder to the log while no run does it. */
const outsideWriter = (scope: Scope, key: SessionKey): FilesWriter => {
  const { folds } = scope;
  const decide: FilesWriter['decide'] = (decideOn) =>
    untilItLands(key, async () => {
      const fold = await folds.head(key);
      const drafts: readonly EventDraft[] = decideOn(fold) ?? [];
      if (drafts.length === 0) return { as: [] };
      const written = await appendDrafts(scope, key, drafts, {
        writer: { kind: 'outside' },
        ...onTopOf(fold),
        whileStatus: statusesThatAllow('commit'),
      });
      if ('events' in written) {
        folds.advance(key, fold, written);
        return { as: written.events };
      }
      folds.forget(key);
      const { outcome } = written;
      if (outcome.outcome !== 'conflict') throw refusal(key, outcome, { drafts, command: 'commit' });
      return undefined;
    });
  return { key, fold: () => folds.head(key), decide, record: (...drafts) => decide(() => drafts) };
};

const isAtWork = ({ run, status }: SessionFold): boolean =>
  run !== undefined && run.waitingFor === undefined && status !== 'paused';

/** Locks the folder. Returns undefined if a run is at work or begins meanwhile. */
const lockWhileIdle = async (scope: Scope, key: SessionKey, place: WorktreePlace): Promise<Disposable | undefined> => {
  await makePlace(place);
  while (!isAtWork(await scope.folds.head(key))) {
    const lock = await tryLock(place);
    if (lock) return lock;
    await sleep(lookMs);
  }
  return undefined;
};

/**
 * Records the person's changes in the log, and brings the folder to the log's files. Does nothing while a run does
 * both.
 */
export const bringBoundFolder = async (scope: Scope, key: SessionKey): Promise<void> => {
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
