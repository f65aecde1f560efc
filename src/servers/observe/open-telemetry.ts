import { SpanKind, SpanStatusCode, trace } from '@opentelemetry/api';
import manifest from '../../../package.json' with { type: 'json' };
import { noSpans, type Spans } from '../../core/ports/spans.ts';
import { PerdureError } from '../../schema/error.ts';

const kinds = { internal: SpanKind.INTERNAL, client: SpanKind.CLIENT };

const typeOf = (error: unknown): string => {
  if (error instanceof PerdureError) return error.code;
  return error instanceof Error ? error.name : 'unknown';
};

/**
 * Creates spans through the API of OpenTelemetry. They go to the SDK that the program has set up; without an SDK
 * nothing happens.
 */
export const openTelemetrySpans = (): Spans => {
  const tracer = trace.getTracer(manifest.name, manifest.version);
  return {
    span: ({ name, kind, attributes }, work) =>
      tracer.startActiveSpan(name, { kind: kinds[kind], attributes: { ...attributes } as never }, async (span) => {
        const fail = (type: string) => {
          span.setAttribute('error.type', type);
          span.setStatus({ code: SpanStatusCode.ERROR });
        };
        try {
          return await work({ set: (more) => span.setAttributes({ ...more } as never), fail });
        } catch (error) {
          // The message of the error is left out, because it may quote a conversation.
          fail(typeOf(error));
          throw error;
        } finally {
          span.end();
        }
      }),
  };
};

export interface Tracing {
  readonly spans: Spans;
  /** Flushes the remaining spans. */
  stop(): Promise<void>;
}

const packages = [
  '@opentelemetry/sdk-trace',
  '@opentelemetry/exporter-trace-otlp-http',
  '@opentelemetry/context-async-hooks',
  '@opentelemetry/resources',
];

const loadSdk = async () => {
  const [sdk, exporter, hooks, resources, api] = await Promise.all([
    import('@opentelemetry/sdk-trace'),
    import('@opentelemetry/exporter-trace-otlp-http'),
    import('@opentelemetry/context-async-hooks'),
    import('@opentelemetry/resources'),
    import('@opentelemetry/api'),
  ]);
  return { ...sdk, ...exporter, ...hooks, ...resources, api };
};

type Sdk = Awaited<ReturnType<typeof loadSdk>>;

/**
 * Sends spans to the receiver in OTEL_EXPORTER_OTLP_ENDPOINT or OTEL_EXPORTER_OTLP_TRACES_ENDPOINT. Warns if the
 * packages for it are not installed.
 */
export const startTracing = async (
  env: Readonly<Record<string, string | undefined>>,
  onWarning: (problem: unknown) => void,
  load: () => Promise<object> = loadSdk,
): Promise<Tracing> => {
  const none = { spans: noSpans, stop: async () => {} };
  const [base, traces] = [env.OTEL_EXPORTER_OTLP_ENDPOINT, env.OTEL_EXPORTER_OTLP_TRACES_ENDPOINT];
  const url = traces || (base && `${base.replace(/\/$/, '')}/v1/traces`);
  if (!url) return none;
  const sdk = await (load() as Promise<Sdk>).catch((cause) => {
    const problem = `a receiver for spans is configured, but the packages that send them are not installed: run npm install ${packages.join(' ')}`;
    onWarning(new Error(problem, { cause }));
    return undefined;
  });
  if (!sdk) return none;
  const processor = new sdk.BatchSpanProcessor({ exporter: new sdk.OTLPTraceExporter({ url }) });
  const provider = new sdk.TracerProvider({
    resource: sdk.resourceFromAttributes({ 'service.name': env.OTEL_SERVICE_NAME || manifest.name }),
    spanProcessors: [processor],
  });
  sdk.api.context.setGlobalContextManager(new sdk.AsyncLocalStorageContextManager().enable());
  sdk.api.trace.setGlobalTracerProvider(provider);
  return {
    spans: openTelemetrySpans(),
    stop: async () => {
      await provider.shutdown().catch(onWarning);
      sdk.api.trace.disable();
      sdk.api.context.disable();
    },
  };
};
