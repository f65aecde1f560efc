import { type ConstructorOptions, PgBoss } from 'pg-boss';

/** The name of the queue; its policy is `standard`. */
export const jobs = 'jobs';

/** Without what would only cost it time: nothing is scheduled, and who supervises says so. */
export const startBoss = async (connectionString: string, options: ConstructorOptions = {}): Promise<PgBoss> => {
  const boss = new PgBoss({ connectionString, schedule: false, supervise: false, ...options });
  boss.on('error', (error) => console.error(error));
  await boss.start();
  return boss;
};
