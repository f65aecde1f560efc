import { expect, test } from 'vitest';
import { readJson } from './read-body.ts';

const asked = (
  body: string | Uint8Array<ArrayBuffer>,
  headers: Record<string, string> = { 'content-type': 'application/json' },
): Request => new Request('http://localhost/', { method: 'POST', body, headers });

test('[HTTP6] a body over the limit is refused, with or without a content-length', async () => {
  await expect(readJson(asked('"123456789"'), 10)).rejects.toMatchObject({ code: 'PAYLOAD_TOO_LARGE' });
  const endless = new ReadableStream({ pull: (controller) => controller.enqueue(new Uint8Array(1024)) });
  const request = new Request('http://localhost/', { method: 'POST', body: endless, duplex: 'half' } as RequestInit);
  await expect(readJson(request, 10_000)).rejects.toMatchObject({ code: 'PAYLOAD_TOO_LARGE' });
});

test.for([
  ['bytes that are not UTF-8', new Uint8Array([0x22, 0xff, 0x22])],
  ['incomplete JSON', '{"a":'],
  ['arrays nested too deep', `${'['.repeat(100_000)}${']'.repeat(100_000)}`],
  ['objects nested too deep', `${'{"a":'.repeat(300)}1${'}'.repeat(300)}`],
] as const)('[HTTP6, HTTP21] %s: refused as invalid input', async ([, body]) => {
  await expect(readJson(asked(body), 10_000_000)).rejects.toMatchObject({ code: 'INVALID_INPUT' });
});

test('[HTTP21] brackets within strings are not counted as nesting', async () => {
  const text = '['.repeat(1000);
  expect(await readJson(asked(JSON.stringify({ text: `${text}\\"` })), 10_000)).toEqual({ text: `${text}\\"` });
});

test.for([
  ['objects', '{}'],
  ['numbers', '1'],
  ['lists', '[]'],
] as const)('[HTTP21] a list of 500,000 %s, one value over the limit, is refused before parsing', async ([, value]) => {
  // Unterminated, so that parsing it would fail.
  const bodyOf = (count: number) => `[${Array(count).fill(value).join(',')}`;
  await expect(readJson(asked(bodyOf(500_000)), 10_000_000)).rejects.toMatchObject({
    code: 'PAYLOAD_TOO_LARGE',
    details: { maxValues: 500_000 },
  });
  await expect(readJson(asked(bodyOf(499_999)), 10_000_000)).rejects.toMatchObject({ code: 'INVALID_INPUT' });
});

test('[HTTP6] commas within strings are not counted as values', async () => {
  const text = ',{'.repeat(500_000);
  expect(await readJson(asked(JSON.stringify([text])), 10_000_000)).toEqual([text]);
});

test('[HTTP6] a body of another content type is refused', async () => {
  await expect(readJson(asked('{}', { 'content-type': 'text/plain' }), 10)).rejects.toMatchObject({
    code: 'INVALID_INPUT',
  });
});

test('[HTTP6] a body declared in a charset other than UTF-8 is refused', async () => {
  const declared = (charset: string) =>
    readJson(asked('{}', { 'content-type': `application/json; v=1; charset=${charset}` }), 10);
  for (const charset of ['latin1', '"iso-8859-1"', 'utf-16', 'utf-80', '']) {
    await expect(declared(charset)).rejects.toMatchObject({ code: 'INVALID_INPUT' });
  }
  for (const charset of ['utf-8', 'UTF-8', '"utf-8"', 'utf8']) expect(await declared(charset)).toEqual({});
});

test('[HTTP6] a body with a content-encoding is refused', async () => {
  const headers = { 'content-type': 'application/json', 'content-encoding': 'gzip' };
  await expect(readJson(asked('{}', headers), 10)).rejects.toMatchObject({ code: 'INVALID_INPUT' });
});
