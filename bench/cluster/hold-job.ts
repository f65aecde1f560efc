/**
 * Fetches a pg-boss job on request and sends heartbeats from then on. Arguments: the database's address, the heartbeat
 * in ms.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { jobs, startBoss } from './boss.ts';
import { answer } from './program.ts';

const [store, heartbeatMs] = process.argv.slice(2);
const boss = await startBoss(store!);
answer(async () => {
  for (;;) {
    const held = await boss.fetch(jobs);
    if (held.length > 0) return void setInterval(() => boss.touch(jobs, held), Number(heartbeatMs) / 3);
    await pause(50);
  }
});
