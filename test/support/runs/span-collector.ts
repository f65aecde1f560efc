import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { onTestFinished } from 'vitest';

interface ReceivedSpan {
  readonly name: string;
  readonly spanId: string;
  readonly traceId: string;
  readonly parentSpanId?: string;
  readonly kind: number;
  readonly status: { readonly code?: number };
  readonly attributes: Readonly<Record<string, unknown>>;
}

type Value = Readonly<Record<string, unknown>> & { readonly arrayValue?: { readonly values: readonly Value[] } };
const plain = (value: Value): unknown =>
  value.arrayValue ? value.arrayValue.values.map(plain) : Object.values(value)[0];

/** A server on loopback that receives the JSON of OTLP exporters. */
export const startCollector = async () => {
  const bodies: string[] = [];
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    bodies.push(`${request.url} ${Buffer.concat(chunks).toString('utf8')}`);
    response.setHeader('content-type', 'application/json').end('{}');
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  const requests = () => bodies.map((body) => JSON.parse(body.slice(body.indexOf(' ') + 1)));
  const spans = (): readonly ReceivedSpan[] =>
    requests()
      .flatMap(({ resourceSpans }) => resourceSpans)
      .flatMap(({ scopeSpans }) => scopeSpans)
      .flatMap((scope) => scope.spans)
      .map((span) => ({
        ...span,
        attributes: Object.fromEntries(
          span.attributes.map(({ key, value }: { key: string; value: Value }) => [key, plain(value)]),
        ),
      }));
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, bodies, requests, spans };
};
