import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import type { SessionEvent } from '../../schema/event.ts';
import type { Observer } from '../http/index.ts';

export interface Metrics {
  readonly observer: Pick<Observer, 'answered' | 'streams'>;
  /** Counts appended events. To be passed to `openRuntime`. */
  onAppended(events: readonly SessionEvent[]): void;
  /** Returns the metrics in the Prometheus text format. */
  read(): Promise<{ readonly type: string; readonly text: string }>;
}

/** Measures a server's work in a registry of its own, together with the metrics of the process and its event loop. */
export const newMetrics = (): Metrics => {
  const register = new Registry();
  const registers = [register];
  collectDefaultMetrics({ register });
  const requests = new Counter({
    name: 'perdure_http_requests_total',
    help: 'Answered requests.',
    labelNames: ['method', 'route', 'status'],
    registers,
  });
  const durations = new Histogram({
    name: 'perdure_http_request_duration_seconds',
    help: 'Time from a request to the start of its answer.',
    labelNames: ['method', 'route'],
    buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10],
    registers,
  });
  const streams = new Gauge({ name: 'perdure_http_streams', help: 'Open streams.', registers });
  const events = new Counter({
    name: 'perdure_events_appended_total',
    help: 'Events that this process wrote into logs.',
    labelNames: ['type'],
    registers,
  });
  const runs = new Counter({
    name: 'perdure_runs_ended_total',
    help: 'Runs whose end this process wrote.',
    labelNames: ['status'],
    registers,
  });
  return {
    observer: {
      answered: ({ method, route, status, durationMs }) => {
        requests.inc({ method, route, status });
        durations.observe({ method, route }, durationMs / 1000);
      },
      streams: (change) => streams.inc(change),
    },
    onAppended: (appended) => {
      for (const event of appended) {
        events.inc({ type: event.type });
        if (event.type === 'run.ended') runs.inc({ status: event.payload.status });
      }
    },
    read: async () => ({ type: register.contentType, text: await register.metrics() }),
  };
};
