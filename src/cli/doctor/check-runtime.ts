import type { WorkerInfo } from '../../core/runs/list-workers.ts';
import type { ModelInfo } from '../../core/session/model-infos.ts';
import type { Runtime } from '../../runtime.ts';
import { type Finding, finding } from './finding.ts';

const plural = (count: number, one: string): string => `${count} ${one}${count === 1 ? '' : 's'}`;

/** Live workers, and sessions that a lost one still holds. */
export const checkWorkers = (workers: readonly WorkerInfo[], now: number): readonly Finding[] => {
  const live = workers.filter(({ status }) => status !== 'lost');
  const lost = workers.filter(({ status }) => status === 'lost');
  const seen = (worker: WorkerInfo): string => `seen ${Math.max(0, Math.round((now - worker.seenAt) / 1000))} s ago`;
  const full = live.length > 0 && live.every(({ hasRoom }) => !hasRoom);
  return [
    live.length === 0
      ? finding('workers', 'warn', 'no live worker: inputs wait', '`perdure worker` or `perdure serve` starts one')
      : finding(
          'workers',
          full ? 'warn' : 'ok',
          `${plural(live.length, 'live worker')}, ${live.reduce((sum, { busy }) => sum + busy, 0)} sessions in work${full ? ', no room for more' : ''}`,
          full ? 'start more workers, or raise --concurrency' : undefined,
        ),
    ...lost.map((worker) =>
      finding(
        'workers',
        worker.holds.length > 0 ? 'warn' : 'ok',
        `${worker.worker} is lost, ${seen(worker)}, and held ${plural(worker.busy, 'session')}`,
        worker.holds.length > 0 ? 'a live worker takes them over when their lease ends' : undefined,
      ),
    ),
  ];
};

/** Whether each model has what it needs. Makes no network call. */
export const checkModels = (
  models: ReadonlyMap<{ readonly name: string }, readonly ModelInfo[]>,
): readonly Finding[] => {
  if (models.size === 0)
    return [finding('models', 'warn', 'no agents are configured', 'define one in perdure.config.ts')];
  return [...models].flatMap(([agent, infos]) =>
    infos.map(({ name, problem }) =>
      problem
        ? finding(
            'models',
            infos.every((each) => each.problem) ? 'fail' : 'warn',
            `${agent.name}: ${name}: ${problem}`,
            'set its key, or name another model',
          )
        : finding('models', 'ok', `${agent.name}: ${name} is configured (not called)`),
    ),
  );
};

/** Whether the master key opens the vaults of all workspaces. */
export const checkVaults = async (runtime: Pick<Runtime, 'checkVaults'>): Promise<readonly Finding[]> => {
  const all = await runtime.checkVaults();
  const locked = all.filter(({ problem }) => problem !== undefined);
  if (all.length === 0) return [finding('vault', 'ok', 'no workspace has secrets')];
  if (locked.length === 0) return [finding('vault', 'ok', `the master key opens ${plural(all.length, 'vault')}`)];
  return locked.map(({ workspace, problem }) =>
    finding('vault', 'fail', `${workspace}: ${problem}`, 'set the master key with which the secrets were sealed'),
  );
};
