import type { RuntimeOptions } from '../../runtime.ts';
import type { ServeOptions } from '../http/index.ts';
import { logRequests, newLogger } from './logger.ts';
import { type Metrics, newMetrics } from './metrics.ts';
import { startTracing } from './open-telemetry.ts';

export interface Observing {
  /** Options for `openRuntime`. */
  readonly runtime: Required<Pick<RuntimeOptions, 'spans' | 'onAppended'>>;
  /** Options for `serveHttp`. */
  readonly server: Required<Pick<ServeOptions, 'observer' | 'metrics'>>;
  /** Counts the work of worker processes. */
  readonly workers: Pick<Metrics, 'onTally' | 'onRestart' | 'countWorkers'>;
  /** Logs a problem that belongs to no request. */
  warn(message: string): void;
  /** Logs an error that belongs to no request, with what it is about. */
  error(about: object, message: string): void;
  /** Flushes the remaining spans. */
  stop(): Promise<void>;
}

/** Logs, counts and traces the work of a server. */
export const startObserving = async (options: {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly level?: string | undefined;
  readonly write: (line: string) => void;
  /** Patterns of paths whose untrusted changes are counted. By default facts and decisions. */
  readonly watchedPaths?: readonly string[] | undefined;
}): Promise<Observing> => {
  const logger = newLogger({ level: options.level, destination: { write: options.write } });
  const metrics = newMetrics(options);
  const tracing = await startTracing(options.env, (err) => logger.warn({ err }, 'no spans are sent'));
  const { answered, failed } = logRequests(logger);
  return {
    runtime: { spans: tracing.spans, onAppended: metrics.onAppended },
    server: {
      observer: {
        answered: (request) => {
          metrics.observer.answered(request);
          answered(request);
        },
        failed,
        streams: metrics.observer.streams,
        wrongKey: metrics.observer.wrongKey,
      },
      metrics: metrics.read,
    },
    workers: metrics,
    warn: (message) => logger.warn(message),
    error: (about, message) => logger.error(about, message),
    stop: tracing.stop,
  };
};
