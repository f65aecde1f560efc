import { expect, test } from 'vitest';
import { errorCatalog } from '../../schema/error-catalog.ts';
import type { SessionEvent } from '../../schema/event.ts';
import { runFailureCatalog } from '../../schema/run-failure-catalog.ts';
import { eventGist } from '../render/event-gist.ts';
import { activityOf } from './activity.ts';

const told = (type: string, payload: object) =>
  activityOf({ type, payload } as unknown as SessionEvent).map(({ mark, text }) => mark + text);
const failedWith = (code: string, message = 'it went wrong') =>
  told('run.ended', { status: 'failed', error: { code, message } });

const remedies = Object.entries({ ...errorCatalog, ...runFailureCatalog }).map(([code, { remedy }]) => [code, remedy]);

test.each(remedies)('[CLIR11] a run that failed with %s is told with what to do next', (code, remedy) => {
  expect(failedWith(code!)).toEqual([`! failed ${code}: it went wrong`, `  ${remedy}`]);
});

test('[CLIR11] a message that ends with what to do is told alone; words of others in it do not count', () => {
  for (const message of ['no: check the key', 'it has none: give it one', 'its size: raise it, or ask for less'])
    expect(failedWith('MODEL_REFUSED', message)).toHaveLength(1);
  const others = ['no `name`', 'see --help', 'tools: use of it: not allowed', 'tools: use of it', 'try, or ask.'];
  for (const message of [...others, 'it broke off: read ECONNRESET', 'it broke off: write timeout'])
    expect(failedWith('MODEL_REFUSED', message)[1]).toBe(`  ${runFailureCatalog.MODEL_REFUSED.remedy}`);
});

test('[CLIR11] a code of another release is told as it is', () => {
  expect(failedWith('FROM_TOMORROW')).toEqual(['! failed FROM_TOMORROW: it went wrong']);
  expect(failedWith('toString')).toHaveLength(1);
  expect(told('run.ended', { status: 'cancelled' })).toEqual(['! cancelled']);
});

test('[CLIR11] a failure of the model that ends its run is told once, by that end', () => {
  const failed = { failure: 'timeout', message: 'm sent nothing for too long' };
  expect(told('model.failed', failed)).toEqual([]);
  expect(told('model.failed', { ...failed, retryInMs: 2000 })).toEqual([
    '! timeout: m sent nothing for too long; asked again in 2.0 s',
  ]);
});

test('[CLIR11] what to do is told where the run ended, not at every try before', () => {
  const what = 'm is not available: Cannot connect to API';
  const advice = 'check the network, the base URL (OPENAI_BASE_URL), and that something answers there';
  const message = `${what}: ${advice}`;
  expect(told('model.failed', { failure: 'unavailable', message, retryInMs: 2000 })).toEqual([
    `! unavailable: ${what}; asked again in 2.0 s`,
  ]);
  expect(failedWith('MODEL_UNAVAILABLE', message)).toEqual([`! failed MODEL_UNAVAILABLE: ${message}`]);
});

test('[CLIR11] a log names the code by which the rest can be looked up', () => {
  const payload = { status: 'failed', error: { code: 'MAX_STEPS', message: 'it took 2 steps' } };
  expect(eventGist({ type: 'run.ended', payload } as unknown as SessionEvent)).toBe(
    'failed MAX_STEPS: it took 2 steps',
  );
});
