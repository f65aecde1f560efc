import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Runtime, RuntimeOptions } from '../../src/index.ts';
import type { Bench } from '../bench-case.ts';
import type { Place } from '../engines/engine.ts';

export interface Stage extends Bench {
  readonly place: Place;
  readonly runtime: Runtime;
  /** The folder for worktrees. */
  readonly data: string;
}

/** Makes a new database with a runtime on it, and removes both when the work is done. */
export const onStage = async <T>(
  bench: Bench,
  options: Partial<RuntimeOptions>,
  work: (stage: Stage) => Promise<T>,
): Promise<T> => {
  const place = await bench.engine.newPlace();
  const data = await mkdtemp(join(tmpdir(), 'perdure-bench-'));
  const runtime = await bench.library.openRuntime({ worker: false, ...options, store: place.address, data });
  try {
    return await work({ ...bench, place, runtime, data });
  } finally {
    await runtime.close();
    await rm(data, { recursive: true });
    await place.remove();
  }
};
