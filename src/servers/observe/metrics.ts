import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import { untrustedPaths, watchedPart } from '../../core/session/state/untrusted-paths.ts';
import type { SessionEvent } from '../../schema/event.ts';
import { usuallyWatched } from '../../schema/watched-paths.ts';
import type { Observer } from '../http/index.ts';

type Counts = Readonly<Record<string, number>>;

/** A commit that gave an entry at a watched path a low provenance. */
export interface UntrustedCommit {
  readonly pattern: string;
  readonly provenance: string;
}

/** The untrusted commits among events, once for each watched pattern that they match. */
export const untrustedCommits = (
  events: readonly SessionEvent[],
  watched: readonly string[],
): readonly UntrustedCommit[] =>
  events.flatMap((event) => {
    const paths = event.type === 'state.committed' ? untrustedPaths(event.payload) : [];
    return watched.flatMap((pattern) => {
      const found = paths.length > 0 ? watchedPart(paths, [pattern]) : undefined;
      return found ? [{ pattern, provenance: found.provenance }] : [];
    });
  });

export interface Metrics {
  readonly observer: Pick<Observer, 'answered' | 'streams' | 'wrongKey'>;
  /** Counts appended events. To be passed to `openRuntime`. */
  onAppended(events: readonly SessionEvent[]): void;
  /** Counts events that a worker process of this server has written. */
  onTally(tally: {
    readonly events: Counts;
    readonly runs: Counts;
    readonly untrusted?: readonly UntrustedCommit[] | undefined;
  }): void;
  /** Counts a restart of a worker process. */
  onRestart(): void;
  /** Reads the number of worker processes at work whenever the metrics are read. */
  countWorkers(running: () => number): void;
  /** Returns the metrics in the Prometheus text format. */
  read(): Promise<{ readonly type: string; readonly text: string }>;
}

export interface MetricsOptions {
  /** Patterns of paths whose untrusted changes are counted. By default facts and decisions. */
  readonly watchedPaths?: readonly string[] | undefined;
}

/** Measures a server's work in a registry of its own, together with the metrics of the process and its event loop. */
export const newMetrics = ({ watchedPaths = usuallyWatched }: MetricsOptions = {}): Metrics => {
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
    help: 'Events that this process and its worker processes wrote into logs.',
    labelNames: ['type'],
    registers,
  });
  const runs = new Counter({
    name: 'perdure_runs_ended_total',
    help: 'Runs whose end this process or one of its worker processes wrote.',
    labelNames: ['status'],
    registers,
  });
  const untrusted = new Counter({
    name: 'perdure_untrusted_commits_total',
    help: 'Commits that gave an entry at a watched path the provenance unverified or imported.',
    labelNames: ['pattern', 'provenance'],
    registers,
  });
  const wrongKeys = new Counter({
    name: 'perdure_http_wrong_keys_total',
    help: 'Requests with a wrong key, rejected (401) or, after too many from one address, limited (429).',
    labelNames: ['outcome'],
    registers,
  });
  const restarts = new Counter({
    name: 'perdure_worker_restarts_total',
    help: 'Worker processes of this server that died and were started again.',
    registers,
  });
  return {
    observer: {
      answered: ({ method, route, status, durationMs }) => {
        requests.inc({ method, route, status });
        durations.observe({ method, route }, durationMs / 1000);
      },
      streams: (change) => streams.inc(change),
      wrongKey: (outcome) => wrongKeys.inc({ outcome }),
    },
    onAppended: (appended) => {
      for (const event of appended) {
        events.inc({ type: event.type });
        if (event.type === 'run.ended') runs.inc({ status: event.payload.status });
      }
      for (const { pattern, provenance } of untrustedCommits(appended, watchedPaths))
        untrusted.inc({ pattern, provenance });
    },
    onTally: (tally) => {
      for (const [type, count] of Object.entries(tally.events)) events.inc({ type }, count);
      for (const [status, count] of Object.entries(tally.runs)) runs.inc({ status }, count);
      for (const { pattern, provenance } of tally.untrusted ?? []) untrusted.inc({ pattern, provenance });
    },
    onRestart: () => restarts.inc(),
    countWorkers: (running) => {
      new Gauge({
        name: 'perdure_worker_processes',
        help: 'Worker processes of this server that are at work.',
        registers,
        collect() {
          this.set(running());
        },
      });
    },
    read: async () => ({ type: register.contentType, text: await register.metrics() }),
  };
};
