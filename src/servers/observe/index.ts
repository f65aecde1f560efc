export { type LogOptions, logRequests, newLogger } from './logger.ts';
export { type Metrics, type MetricsOptions, newMetrics, untrustedCommits } from './metrics.ts';
export { openTelemetrySpans, startTracing, type Tracing } from './open-telemetry.ts';
export { type Observing, startObserving } from './start-observing.ts';
