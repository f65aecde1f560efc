import { expect, test } from 'vitest';
import { besiegedServer, isRefused } from '../hostile/besieged-server.ts';

test('[HTTP11] every route rejects every malformed request, and nothing is written', async () => {
  const server = await besiegedServer();
  const wrong: string[] = [];
  let count = 0;
  for (const route of server.routes) {
    for (const request of server.requestsFor(route)) {
      const outcome = await server.send(request);
      count++;
      if (!isRefused(outcome)) wrong.push(`${request.what}: ${outcome}`);
    }
    await server.expectUntouched();
  }
  expect(wrong).toEqual([]);
  expect(count).toBeGreaterThan(5000);
});
