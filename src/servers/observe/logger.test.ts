import { expect, test } from 'vitest';
import { logRequests, newLogger } from './logger.ts';

const recording = (level?: string) => {
  const lines: string[] = [];
  const logger = newLogger({ level, destination: { write: (line) => void lines.push(line) } });
  return { logger, lines, entries: () => lines.map((line) => JSON.parse(line)) };
};

test('[OBS1] each request is logged as one object with its details', () => {
  const { logger, entries } = recording();
  const observer = logRequests(logger);
  const about = { method: 'GET', route: '/v1/sessions/{session}', durationMs: 3, session: 'ses_a', workspace: 'local' };
  observer.answered({ id: 'r1', status: 200, key: 'key_a', ...about });
  observer.answered({ id: 'r2', status: 503, ...about });
  observer.failed(new TypeError('of a sort'), 'r3');
  expect(entries()).toMatchObject([
    { level: 'info', time: expect.stringMatching(/Z$/), request: 'r1', status: 200, key: 'key_a', ...about },
    { level: 'error', request: 'r2', status: 503 },
    { level: 'error', request: 'r3', err: { type: 'TypeError', message: 'of a sort', stack: expect.any(String) } },
  ]);
});

test('[OBS4] no key, secret or authorization header gets into a log, wherever it occurs', () => {
  const { logger, lines } = recording();
  const [key, secret] = ['pdk_local.key_01jd3v8m.c2VjcmV0LXZhbHVl', 'whsec_c2VjcmV0LXZhbHVlLW9mLWEtaG9vaw=='];
  logger.info({ headers: { authorization: 'Digest c2VjcmV0LXZhbHVl', cookie: 'c2VjcmV0LXZhbHVl' } }, 'asked');
  logger.info({ request: { headers: { authorization: `Bearer ${key}` } } }, `with ${key}`);
  logger.error({ err: new Error(`cannot take ${secret}, nor authorization: Basic c2VjcmV0LXZhbHVl`) });
  expect(lines).toHaveLength(3);
  for (const line of lines) {
    expect(line).not.toMatch(/c2VjcmV0/);
    expect(line).toContain('[redacted]');
    JSON.parse(line);
  }
});

test('[OBS1] entries below the log level are omitted', () => {
  const { logger, lines } = recording('warn');
  logger.info('no');
  logger.warn('yes');
  expect(lines).toHaveLength(1);
});
