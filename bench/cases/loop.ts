import { monitorEventLoopDelay } from 'node:perf_hooks';
import { setTimeout as pause } from 'node:timers/promises';
import type { BenchCase } from '../bench-case.ts';
import { show } from '../figure.ts';
import { oneEvent, realContent } from '../workload.ts';

const sessionCount = 100;
const nanosPerMs = 1e6;
const warmUpMs = 500;

/**
 * The delay of the event loop during the work. Nothing is subtracted: an idle loop shows about the resolution, 1 ms.
 */
const delayDuring = async (work: () => Promise<unknown>) => {
  const histogram = monitorEventLoopDelay({ resolution: 1 });
  histogram.enable();
  await work();
  histogram.disable();
  const at = (share: number) => histogram.percentile(share) / nanosPerMs;
  return { p50: at(50), p99: at(99), max: histogram.max / nanosPerMs };
};

/** The delay of the event loop while many sessions append as fast as they can. */
export const loop: BenchCase = async ({ engine, library, quick, progress }) => {
  progress('event loop');
  const place = await engine.newPlace();
  const runtime = await library.openRuntime({ store: place.address });
  const content = realContent();
  const sessions = await Promise.all(Array.from({ length: sessionCount }, () => runtime.sessions.open()));
  const messages = Array.from({ length: 1000 }, () => oneEvent(content));
  let appends = 0;
  const appendFor = async (ms: number): Promise<void> => {
    const until = performance.now() + ms;
    const loops = sessions.map(async (session) => {
      while (performance.now() < until) await session.append(messages[appends++ % messages.length]!);
    });
    await Promise.all(loops);
  };
  await appendFor(warmUpMs);
  const idle = await delayDuring(() => pause(1000));
  appends = 0;
  const busyMs = quick ? 1500 : 5000;
  const busy = await delayDuring(() => appendFor(busyMs));
  await runtime.close();
  await place.remove();
  const detail = `p50 ${show(busy.p50, 'ms')}, max ${show(busy.max, 'ms')}, ${show((appends * 1000) / busyMs, '/s')}; idle p99 ${show(idle.p99, 'ms')}, max ${show(idle.max, 'ms')}`;
  return [
    { name: 'p99 event-loop delay, 100 busy sessions', value: busy.p99, unit: 'ms', target: { below: 20 }, detail },
  ];
};
