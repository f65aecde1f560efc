import { expect, test } from 'vitest';
import { errorCatalog } from '../../schema/error-catalog.ts';
import type { SessionEvent } from '../../schema/event.ts';
import { runFailureCatalog } from '../../schema/run-failure-catalog.ts';
import { eventGist } from '../render/event-gist.ts';
import { activityOf } from './activity.ts';

const linesOf = (type: string, payload: object) =>
  activityOf({ type, payload } as unknown as SessionEvent).map(({ mark, text }) => mark + text);
const failedWith = (code: string, message = 'it went wrong') =>
  linesOf('run.ended', { status: 'failed', error: { code, message } });

const remedies = Object.entries({ ...errorCatalog, ...runFailureCatalog }).map(([code, { remedy }]) => [code, remedy]);

test.each(remedies)('[CLIR11, RUN36] a run that failed with %s is shown with its remedy', (code, remedy) => {
  expect(failedWith(code!)).toEqual([`! failed ${code}: it went wrong`, `  ${remedy}`]);
});

test('[CLIR11] a message that ends with advice is shown without a remedy, and text of a provider in it is not mistaken for advice', () => {
  for (const message of ['no: check the key', 'it has none: give it one', 'its size: raise it, or ask for less'])
    expect(failedWith('MODEL_REFUSED', message)).toHaveLength(1);
  const others = ['no `name`', 'see --help', 'tools: use of it: not allowed', 'tools: use of it', 'try, or ask.'];
  for (const message of [...others, 'it broke off: read ECONNRESET', 'it broke off: write timeout'])
    expect(failedWith('MODEL_REFUSED', message)[1]).toBe(`  ${runFailureCatalog.MODEL_REFUSED.remedy}`);
});

test('[CLIR11] an unknown code from another release is shown without a remedy', () => {
  expect(failedWith('FROM_TOMORROW')).toEqual(['! failed FROM_TOMORROW: it went wrong']);
  expect(failedWith('toString')).toHaveLength(1);
  expect(linesOf('run.ended', { status: 'cancelled' })).toEqual(['! cancelled']);
});

test('[CLIR11] a model failure that ends its run is shown once, at the end of the run', () => {
  const failed = { failure: 'timeout', message: 'm sent nothing for too long' };
  expect(linesOf('model.failed', failed)).toEqual([]);
  expect(linesOf('model.failed', { ...failed, retryInMs: 2000 })).toEqual([
    '! timeout: m sent nothing for too long; retrying in 2.0 s',
  ]);
});

test('[CLIR26] advice is shown at the first retry and at the end of the run, not at every retry between', () => {
  const what = 'm is not available: Cannot connect to API';
  const advice = 'check the network, the base URL (OPENAI_BASE_URL), and that something answers there';
  const message = `${what}: ${advice}`;
  const failed = { failure: 'unavailable', message, retryInMs: 2000 };
  expect(linesOf('model.failed', { ...failed, attempt: 1 })).toEqual([`! unavailable: ${message}; retrying in 2.0 s`]);
  expect(linesOf('model.failed', { ...failed, attempt: 2 })).toEqual([`! unavailable: ${what}; retrying in 2.0 s`]);
  expect(failedWith('MODEL_UNAVAILABLE', message)).toEqual([`! failed MODEL_UNAVAILABLE: ${message}`]);
});

test('[FALL1] a model failure says which model is asked instead', () => {
  const failed = { failure: 'unusable', message: 'a/a refused the request: check the key', next: 'b/b', attempt: 1 };
  expect(linesOf('model.failed', failed)).toEqual([
    '! unusable: a/a refused the request: check the key; asking b/b instead',
  ]);
});

test('[CLIR26] a log shows the error code, by which more can be looked up', () => {
  const payload = { status: 'failed', error: { code: 'MAX_STEPS', message: 'it took 2 steps' } };
  expect(eventGist({ type: 'run.ended', payload } as unknown as SessionEvent)).toBe(
    'failed MAX_STEPS: it took 2 steps',
  );
});
