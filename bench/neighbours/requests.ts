/** Sends requests from a separate process: reads one after another with their times, or an attack until it is stopped. */
import { Agent, request } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import { answer } from '../cluster/program.ts';

export type Asked =
  | { readonly kind: 'read'; readonly url: string; readonly token: string; readonly count: number }
  | { readonly kind: 'attack'; readonly urls: readonly string[]; readonly token: string; readonly atOnce: number }
  | { readonly kind: 'stop' };

export interface Answered {
  readonly times: readonly number[];
  readonly statuses: Readonly<Record<number, number>>;
}

const agent = new Agent({ keepAlive: true });

const ask = (url: string, token: string, signal?: AbortSignal): Promise<number> =>
  new Promise((resolve, reject) => {
    const asked = request(url, { agent, headers: { authorization: `Bearer ${token}` }, ...(signal && { signal }) });
    asked.on('error', reject).on('response', (response) => {
      response.on('error', reject).on('end', () => resolve(response.statusCode!));
      response.resume();
    });
    asked.end();
  });

let stopping = new AbortController();
let attackers: readonly Promise<void>[] = [];
let statuses: Record<number, number> = {};
const count = (status: number): void => {
  statuses[status] = (statuses[status] ?? 0) + 1;
};
const busyPauseMs = 50;

const attack = async (urls: readonly string[], token: string, first: number): Promise<void> => {
  for (let at = first; !stopping.signal.aborted; at++) {
    try {
      const status = await ask(urls[at % urls.length]!, token, stopping.signal);
      count(status);
      if (status !== 200) await pause(busyPauseMs); // Ignores Retry-After, but does not flood the server with requests.
    } catch (error) {
      if (!stopping.signal.aborted) throw error;
    }
  }
};

const thinkMs = 2;

answer(async (asked: Asked): Promise<Answered> => {
  const times: number[] = [];
  if (asked.kind === 'read') {
    statuses = {};
    for (let at = 0; at < asked.count; at++) {
      await pause(thinkMs * Math.random());
      const began = performance.now();
      count(await ask(asked.url, asked.token));
      times.push(performance.now() - began);
    }
    return { times, statuses };
  }
  if (asked.kind === 'attack') {
    statuses = {};
    stopping = new AbortController();
    attackers = Array.from({ length: asked.atOnce }, (_, at) => attack(asked.urls, asked.token, at));
    return { times, statuses: {} };
  }
  stopping.abort();
  await Promise.all(attackers);
  return { times, statuses };
});
