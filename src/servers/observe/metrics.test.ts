import { expect, test } from 'vitest';
import { openRuntime } from '../../runtime.ts';
import { openMemoryStore } from '../../testing/memory-store.ts';
import { newMetrics } from './metrics.ts';

test('[OBS2] requests are counted and timed by method, route and status, and open streams are counted', async () => {
  const { observer, read } = newMetrics();
  const request = { id: 'r', method: 'GET', route: '/v1/me', status: 200, durationMs: 20 };
  for (const status of [200, 200, 404]) observer.answered({ ...request, status });
  for (const change of [1, 1, -1] as const) observer.streams(change);
  const { type, text } = await read();
  expect(type).toContain('text/plain');
  expect(text).toContain('perdure_http_requests_total{method="GET",route="/v1/me",status="200"} 2');
  expect(text).toContain('perdure_http_requests_total{method="GET",route="/v1/me",status="404"} 1');
  expect(text).toContain('perdure_http_request_duration_seconds_count{method="GET",route="/v1/me"} 3');
  expect(text).toContain('perdure_http_request_duration_seconds_bucket{le="0.025",method="GET",route="/v1/me"} 3');
  expect(text).toContain('perdure_http_streams 1');
  expect(text).toContain('nodejs_eventloop_lag_seconds');
  expect(text).toContain('process_cpu_seconds_total');
});

test('[OBS2] events and ended runs are counted as they are written, and the servers of one process have separate counters', async () => {
  const [metrics, other] = [newMetrics(), newMetrics()];
  const runtime = await openRuntime({ store: openMemoryStore(), onAppended: metrics.onAppended });
  const session = await runtime.sessions.open();
  for (let i = 0; i < 3; i++) await session.append({ role: 'user', content: 'x' });
  metrics.onAppended([{ type: 'run.ended', payload: { status: 'failed' } } as never]);
  const { text } = await metrics.read();
  expect(text).toContain('perdure_events_appended_total{type="session.opened"} 1');
  expect(text).toContain('perdure_events_appended_total{type="message.appended"} 3');
  expect(text).toContain('perdure_runs_ended_total{status="failed"} 1');
  expect((await other.read()).text).not.toContain('type="session.opened"');
  await runtime.close();
});

test('[OBS8] untrusted commits to watched paths are counted by pattern and provenance, also those of workers', async () => {
  const usual = newMetrics();
  const own = newMetrics({ watchedPaths: ['/own/**', '/scratch/*'] });
  const runtime = await openRuntime({
    store: openMemoryStore(),
    onAppended: (events) => [usual, own].forEach((metrics) => void metrics.onAppended(events)),
  });
  const session = await runtime.sessions.open();
  const set = (part: 'facts' | 'scratch', provenance: 'human' | 'imported' | 'unverified') =>
    session.commit((draft) => void Object.assign(draft[part], { [`x${provenance}`]: 'a secret word' }), { provenance });
  await set('facts', 'unverified');
  await set('facts', 'human');
  await set('facts', 'imported');
  await set('scratch', 'unverified');
  const [{ text }, { text: other }] = [await usual.read(), await own.read()];
  expect(text).toContain('perdure_untrusted_commits_total{pattern="/facts/**",provenance="unverified"} 1');
  expect(text).toContain('perdure_untrusted_commits_total{pattern="/facts/**",provenance="imported"} 1');
  expect(text).not.toMatch(/untrusted_commits_total\{pattern="\/(decisions|scratch)/);
  expect(other.match(/^perdure_untrusted_commits_total\{.*/gm)).toEqual([
    'perdure_untrusted_commits_total{pattern="/scratch/*",provenance="unverified"} 1',
  ]);
  expect(text + other).not.toContain('secret word');
  usual.onTally({ events: {}, runs: {}, untrusted: [{ pattern: '/facts/**', provenance: 'unverified' }] });
  expect((await usual.read()).text).toContain('pattern="/facts/**",provenance="unverified"} 2');
  await runtime.close();
});

test('[OBS2] an onAppended callback that throws does not keep events out of the log', async () => {
  const warnings: unknown[] = [];
  const problem = new Error('cannot count');
  const runtime = await openRuntime({
    store: openMemoryStore(),
    onWarning: (warning) => warnings.push(warning),
    onAppended: () => {
      throw problem;
    },
  });
  const session = await runtime.sessions.open();
  expect((await session.summary()).seq).toBe(1);
  expect(warnings).toEqual([problem]);
  await runtime.close();
});
