import { expect, test } from 'vitest';
import { refuseOddTarget } from './request-target.ts';

test.for(['/', '/v1/sessions?status=open&status=paused', '/v1/x/%C3%A9?path=a%2F..%2Fb', '/v1/a..b/.c/...'])(
  '[HTTP11] %s is accepted unchanged',
  (target) => {
    expect(() => refuseOddTarget(target)).not.toThrow();
  },
);

test.for([
  '/v1/../keys',
  '/v1/%2e%2E/keys',
  '/v1/.%2e',
  '/v1/./keys',
  '/v1\\keys',
  '/v1/keys#part',
  '/v1/%ff',
  '/v1/keys?name=%c0%ae',
  '/v1/%',
  '*',
  'http://elsewhere/v1/keys',
  '',
])('[HTTP11] %s is refused', (target) => {
  expect(() => refuseOddTarget(target)).toThrow(expect.objectContaining({ code: 'INVALID_INPUT' }));
});
