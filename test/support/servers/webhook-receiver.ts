import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { onTestFinished } from 'vitest';
import type { WebhookMessage } from '../../../src/index.ts';

export interface Received {
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
  readonly message: WebhookMessage;
}

export interface Receiver {
  readonly url: string;
  /** All deliveries so far, in order. */
  readonly received: readonly Received[];
  /** Resolves when `count` deliveries have arrived, counting only those for which `which` is true. */
  arrived(count: number, which?: (received: Received) => boolean): Promise<readonly Received[]>;
}

/** A server on loopback that receives webhooks. It answers 200 unless `answer` returns something else. */
export const startReceiver = async (
  answer: (response: ServerResponse, received: Received, count: number) => void = (response) => void response.end('ok'),
): Promise<Receiver> => {
  const received: Received[] = [];
  let news = Promise.withResolvers<void>();
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const body = Buffer.concat(chunks).toString('utf8');
    const got = { headers: request.headers, body, message: JSON.parse(body) };
    received.push(got);
    answer(response, got, received.length);
    news.resolve();
    news = Promise.withResolvers();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(async () => {
    server.closeAllConnections();
    server.close();
    await once(server, 'close');
  });
  const arrived: Receiver['arrived'] = async (count, which = () => true) => {
    for (;;) {
      const fitting = received.filter(which);
      if (fitting.length >= count) return fitting;
      await news.promise;
    }
  };
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hooks`, received, arrived };
};
