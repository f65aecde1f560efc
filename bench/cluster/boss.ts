import { type ConstructorOptions, PgBoss } from 'pg-boss';

/** The name of the queue; its policy is `standard`. */
export const jobs = 'jobs';

/**
 * Starts pg-boss without everything that would only cost it time: scheduling, and supervision unless the caller
 * enables it.
 */
export const startBoss = async (connectionString: string, options: ConstructorOptions = {}): Promise<PgBoss> => {
  const boss = new PgBoss({ connectionString, schedule: false, supervise: false, ...options });
  boss.on('error', (error) => console.error(error));
  await boss.start();
  return boss;
};
