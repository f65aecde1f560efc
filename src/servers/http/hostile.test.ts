import { expect, test } from 'vitest';
import { besiegedServer, isRefused } from '../../../test/hostile/besieged-server.ts';
import { rawAttacks } from '../../../test/hostile/raw-attacks.ts';
import { requestFor, sendRaw } from '../../../test/hostile/raw-socket.ts';

/**
 * Each route is tested with every 20th malformed request, starting at a different one. test/slow sends all of them.
 */
const everyNth = 20;

test('[HTTP11, HTTP25] every route refuses malformed requests, and nothing is written', async () => {
  const server = await besiegedServer();
  const wrong: string[] = [];
  for (const [at, route] of server.routes.entries()) {
    const some = server.requestsFor(route).filter((_, index) => (index + at) % everyNth === 0);
    for (const request of some) {
      const outcome = await server.send(request);
      if (!isRefused(outcome)) wrong.push(`${request.what}: ${outcome}`);
    }
  }
  expect(wrong).toEqual([]);
  await server.expectUntouched();
});

test('[HTTP11, HTTP31, HTTP25] bytes that are not HTTP, or are ambiguous, are refused or cut off without any effect', async () => {
  const server = await besiegedServer({ timeouts: { headMs: 1000, requestMs: 1000 } });
  const { url } = server.server;
  const attacks = rawAttacks(server.session, new URL(url).host, server.keys.admin);
  expect(await sendRaw(url, requestFor(server, '/v1/me'))).toEqual({ statuses: [200], isClosed: true });
  const asked = attacks.map(async ({ what, bytes }) => ({ what, ...(await sendRaw(url, bytes)) }));
  const answers = await Promise.all(asked);
  expect(answers.filter(({ statuses, isClosed }) => !isClosed || !statuses.every(isRefused))).toEqual([]);
  await server.expectUntouched();
});
