import type { AddressInfo } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { createAdaptorServer } from '@hono/node-server';
import { Hono } from 'hono';
import { streamSSE } from 'hono/streaming';
import type { MessageInput, Session } from '../../src/index.ts';
import { BareRows } from '../bare-rows.ts';
import type { Bench, BenchCase } from '../bench-case.ts';
import { Client } from '../client.ts';
import type { BareLoop, BareReads } from '../engines/engine.ts';
import { type Figure, show } from '../figure.ts';
import type { Load } from '../http-client.ts';
import { median, percentile, sum } from '../statistics.ts';
import { oneEvent, realContent } from '../workload.ts';

const nanosPerMs = 1e6;
const warmUpRounds = 2;
const atOnce = 16;

/**
 * Bare routes that make the same queries and nothing else, and a stream that receives events from a writer by a
 * function call.
 */
const bareApp = (reads: BareReads, bare: BareLoop, state: unknown) => {
  const app = new Hono();
  const rows = new BareRows();
  const followers = new Set<(seq: number) => void>();
  app.get('/state', async () => {
    await reads.read();
    return Response.json(state);
  });
  app.post('/messages', async (context) => {
    const { messages } = (await context.req.json()) as { messages: readonly MessageInput[] };
    await reads.read();
    const made = messages.map((message) => rows.rowOf('ses_bare', message));
    await bare.insert(made);
    return Response.json({ events: made.map(({ seq }, at) => ({ seq, payload: messages[at] })) }, { status: 201 });
  });
  app.get('/events', (context) =>
    streamSSE(context, async (stream) => {
      followers.add((seq) => void stream.writeSSE({ id: String(seq), event: 'message', data: `{"seq":${seq}}` }));
      await new Promise(() => {});
    }),
  );
  const emit = (seq: number): void => {
    for (const tell of followers) tell(seq);
  };
  return { app, emit };
};

type Ask = Omit<Load, 'kind' | 'count' | 'atOnce'>;

/** Compares requests per second, alternating between ours and bare. */
const share = async (name: string, client: Client, quick: boolean, ours: Ask, bare: Ask): Promise<Figure> => {
  const count = quick ? 200 : 500;
  const times: { ours: number[]; bare: number[] } = { ours: [], bare: [] };
  for (let round = -warmUpRounds; round < (quick ? 6 : 20); round++) {
    const sides = ['ours', 'bare'] as const;
    for (const side of round % 2 === 0 ? sides : sides.toReversed()) {
      const ms = await client.timeOf({ ...(side === 'ours' ? ours : bare), count, atOnce });
      if (round >= 0) times[side].push(ms);
    }
  }
  const rate = (rounds: readonly number[]) => show((1000 * count * rounds.length) / sum(rounds), '/s');
  return {
    name: `${name}, share of bare routes`,
    value: 100 * median(times.ours.map((ms, round) => times.bare[round]! / ms)),
    unit: '%',
    target: { atLeast: 40 },
    detail: `${rate(times.ours)} against ${rate(times.bare)}, ${atOnce} at once`,
  };
};

/** The time from an acknowledged event to its frame reaching a client in another process. */
const hop = async (
  { quick }: Bench,
  client: Client,
  session: Session,
  urls: { readonly ours: string; readonly bare: string },
  emit: (seq: number) => void,
): Promise<readonly Figure[]> => {
  const times: { ours: number[]; bare: number[] } = { ours: [], bare: [] };
  let seq = await headOf(session);
  for (let round = 0; round < (quick ? 50 : 300); round++) {
    await pause(5 + 10 * Math.random());
    const arrives = client.seen(urls.ours, ++seq);
    await session.append({ role: 'user', content: 'Are you there?' });
    const committed = process.hrtime.bigint();
    times.ours.push(Number((await arrives) - committed) / nanosPerMs);
    await pause(5 + 10 * Math.random());
    const hops = client.seen(urls.bare, round + 1);
    const emitted = process.hrtime.bigint();
    emit(round + 1);
    times.bare.push(Number((await hops) - emitted) / nanosPerMs);
  }
  return hopFigures('event committed to client', 'a bare hop', times);
};

export const hopFigures = (
  what: string,
  bareHop: string,
  times: Readonly<Record<'ours' | 'bare', readonly number[]>>,
): readonly Figure[] =>
  [0.5, 0.99].map((part) => {
    const [ours, bare] = [percentile(times.ours, part), percentile(times.bare, part)];
    return {
      name: `${what}, p${100 * part}, times ${bareHop}`,
      value: ours / bare,
      unit: 'x',
      detail: `${show(ours, 'ms')} against ${show(bare, 'ms')}`,
    };
  });

const headOf = async (session: Session): Promise<number> => (await session.summary()).seq;

export const server: BenchCase = async (bench) => {
  bench.progress('server');
  const { library, engine, quick } = bench;
  const place = await engine.newPlace();
  const runtime = await library.openRuntime({ store: place.address });
  const { serveHttp } = (await import(new URL('./servers/http/index.js', library.url).href)) as Pick<
    typeof import('../../src/servers/http/index.ts'),
    'serveHttp'
  >;
  const session = await runtime.sessions.open();
  const followed = await runtime.sessions.open();
  await session.commit((draft) => {
    for (let at = 0; at < 20; at++) draft.facts[`fact-${at}`] = `value ${at}`;
  });
  const { key, token } = await runtime.keys.create();
  const ours = await serveHttp(runtime, { rate: { perSecond: 1e6, burst: 1e6 } });
  const reads = await place.openReads({ key: key.id, member: key.member, session: session.id });
  const loop = await place.openBare();
  const { app, emit } = bareApp(reads, loop, await session.state());
  const bare = createAdaptorServer({ fetch: app.fetch });
  await new Promise<void>((resolve) => bare.listen(0, '127.0.0.1', resolve));
  const bareUrl = `http://127.0.0.1:${(bare.address() as AddressInfo).port}`;
  const client = new Client();
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
  const body = JSON.stringify({ messages: [oneEvent(realContent())] });
  const path = `${ours.url}/v1/sessions/${session.id}`;
  const urls = { ours: `${ours.url}/v1/sessions/${followed.id}/events`, bare: `${bareUrl}/events` };
  try {
    const first = client.seen(urls.ours, 1);
    for (const url of Object.values(urls)) client.follow({ url, headers });
    await first;
    return [
      await share(
        'reads of the state',
        client,
        quick,
        { url: `${path}/state`, method: 'GET', headers },
        {
          url: `${bareUrl}/state`,
          method: 'GET',
          headers,
        },
      ),
      await share(
        'appends of 5 kB',
        client,
        quick,
        { url: `${path}/messages`, method: 'POST', headers, body },
        {
          url: `${bareUrl}/messages`,
          method: 'POST',
          headers,
          body,
        },
      ),
      ...(await hop(bench, client, followed, urls, emit)),
    ];
  } finally {
    await client.close();
    await ours.stop();
    bare.close();
    await Promise.all([loop.close(), reads.close()]);
    await runtime.close();
    await place.remove();
  }
};
