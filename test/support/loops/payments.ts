import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { onTestFinished } from 'vitest';

export interface Payments {
  readonly url: string;
  /** The refunds that were paid, by order. */
  readonly paid: ReadonlyMap<string, number>;
  /** Resolves when a refund of the order was paid. Its answer is held back, so that the loop stays inside its tool. */
  holdNext(order: string): Promise<void>;
}

/** A payment service. POST /ORDER pays a refund, and GET /ORDER tells how many were paid. */
export const startPayments = async (): Promise<Payments> => {
  const paid = new Map<string, number>();
  const held = new Map<string, () => void>();
  const server = createServer((request, response) => {
    const order = request.url!.slice(1);
    if (request.method === 'GET') {
      response.end(JSON.stringify(paid.get(order) ?? 0));
      return;
    }
    paid.set(order, (paid.get(order) ?? 0) + 1);
    const hold = held.get(order);
    held.delete(order);
    if (hold) hold();
    else response.end('"paid"');
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  const holdNext = (order: string) => new Promise<void>((resolve) => held.set(order, resolve));
  return { url: `http://127.0.0.1:${port}`, paid, holdNext };
};
