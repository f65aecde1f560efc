import { fork } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { BenchCase } from '../bench-case.ts';
import { type Figure, show } from '../figure.ts';
import { percentile } from '../statistics.ts';

const follower = fileURLToPath(new URL('../follower.ts', import.meta.url));
const nanosPerMs = 1e6;
/**
 * Time between appends: long enough for everything to become idle again, and random, so that appends never coincide
 * with polls.
 */
const idleMs = (): number => 20 + 40 * Math.random();

/**
 * Measures the time from an acknowledged append in this process until a follower in another process has the event.
 * Both read the same monotonic clock of the machine.
 */
export const wake: BenchCase = async ({ engine, library, quick, progress }): Promise<readonly Figure[]> => {
  progress('wake-up');
  const place = await engine.newPlace();
  const runtime = await library.openRuntime({ store: place.address });
  const session = await runtime.sessions.open();
  const child = fork(follower, [library.url, place.address, session.id], { execArgv: [] });
  const seen = new Map<number, (at: bigint) => void>();
  child.on('message', ([seq, at]: [number, string]) => seen.get(seq)?.(BigInt(at)));
  const untilSeen = (seq: number) => new Promise<bigint>((resolve) => seen.set(seq, resolve));
  await untilSeen(1);
  const fromCall: number[] = [];
  const fromAck: number[] = [];
  for (let seq = 2; seq <= (quick ? 30 : 150); seq++) {
    await pause(idleMs());
    const arrives = untilSeen(seq);
    const called = process.hrtime.bigint();
    await session.append({ role: 'user', content: 'Are you there?' });
    const acknowledged = process.hrtime.bigint();
    const arrived = await arrives;
    fromCall.push(Number(arrived - called) / nanosPerMs);
    fromAck.push(Number(arrived - acknowledged) / nanosPerMs);
  }
  child.disconnect();
  await once(child, 'exit');
  await runtime.close();
  await place.remove();
  const at = (times: readonly number[], share: number) => show(percentile(times, share), 'ms');
  return [
    {
      name: 'commit here to follower in another process, p99',
      value: percentile(fromAck, 0.99),
      unit: 'ms',
      target: { below: 50 },
      detail: `p50 ${at(fromAck, 0.5)}, max ${at(fromAck, 1)}; from the call of append p50 ${at(fromCall, 0.5)}, p99 ${at(fromCall, 0.99)}`,
    },
  ];
};
