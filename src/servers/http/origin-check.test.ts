import { expect, test } from 'vitest';
import { corsHeaders, refuseForeign } from './origin-check.ts';

const rules = { hosts: ['localhost', '127.0.0.1', '[::1]'], origins: ['https://app.example.org'] };
const asked = (headers: Record<string, string>): Request => {
  const request = new Request('http://localhost/');
  return Object.defineProperty(request, 'headers', { value: new Headers(headers) });
};

test.for([
  { host: 'localhost:4000' },
  { host: '127.0.0.1' },
  { host: '[::1]:4000' },
  { host: 'LOCALHOST:1' },
  { host: 'localhost:4000', origin: 'http://localhost:4000' },
  { host: 'localhost:4000', origin: 'https://app.example.org' },
])('[HTTP4] %o is answered', (headers) => {
  expect(() => refuseForeign(asked(headers), rules)).not.toThrow();
});

test.for([
  {},
  { host: '' },
  { host: 'evil.example.org' },
  { host: 'localhost.evil.example.org' },
  { host: 'evil.example.org:4000', origin: 'http://evil.example.org:4000' },
  { host: 'localhost:4000', origin: 'http://localhost:4001' },
  { host: 'localhost:4000', origin: 'null' },
  { host: 'localhost:4000', origin: 'https://app.example.org.evil.example' },
])('[HTTP4] %o is refused', (headers) => {
  expect(() => refuseForeign(asked(headers as Record<string, string>), rules)).toThrow(
    expect.objectContaining({ code: 'FORBIDDEN' }),
  );
});

test('[HTTP4] only configured origins receive CORS headers that let them read', () => {
  expect(corsHeaders(asked({ origin: 'https://evil.example' }), rules)).toEqual({ vary: 'origin' });
  expect(corsHeaders(asked({ origin: 'https://evil.example' }), { ...rules, origins: [] })).toEqual({});
  expect(corsHeaders(asked({ origin: 'https://app.example.org' }), rules)).toMatchObject({
    'access-control-allow-origin': 'https://app.example.org',
    vary: 'origin',
  });
});
