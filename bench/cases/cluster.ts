import type { BenchCase } from '../bench-case.ts';
import { claims } from '../cluster/claims.ts';
import { delivery } from '../cluster/delivery.ts';
import { recovery } from '../cluster/recovery.ts';
import { throughput } from '../cluster/throughput.ts';
import { writers } from '../cluster/writers.ts';
import type { Figure } from '../figure.ts';

const parts = { throughput, writers, claims, recovery, delivery } satisfies Record<string, BenchCase>;

/** Measures many processes on one PostgreSQL. */
export const cluster: BenchCase = async (bench) => {
  if (bench.engine.name !== 'postgres') return [];
  const figures: Figure[] = [];
  for (const [name, part] of Object.entries(parts)) {
    bench.progress(`cluster: ${name}`);
    figures.push(...(await part(bench)));
  }
  return figures;
};
