import { expect, test } from 'vitest';
import { startTestServer } from '../../../test/support/servers/http-server.ts';
import { cachedResponse } from './cached-response.ts';

test('[HTTP2, HTTP27] an answer that is the same for all clients is made once', async () => {
  let made = 0;
  const answer = cachedResponse(() => new Response(`made ${++made}`, { headers: { 'content-type': 'text/plain' } }));
  const answers = await Promise.all([1, 2, 3].map(() => answer(new Headers())));
  expect(await Promise.all(answers.map((each) => each.text()))).toEqual(['made 1', 'made 1', 'made 1']);
  expect(answers.map(({ headers }) => headers.get('content-type'))).toEqual(Array(3).fill('text/plain'));
});

test.for(['/v1/docs', '/v1/openapi.json'])(
  '[HTTP2, HTTP27] %s has an ETag, and a client that sends this ETag gets 304',
  async (path) => {
    const { ask } = await startTestServer();
    const first = await ask(path, { key: '' });
    const etag = first.headers.get('etag')!;
    expect(etag).toMatch(/^"[\w-]{43}"$/);
    expect(await first.text()).toContain('/v1/sessions');
    const known = await ask(path, { key: '', headers: { 'if-none-match': etag } });
    expect([known.status, await known.text(), known.headers.get('etag')]).toEqual([304, '', etag]);
    expect((await ask(path, { key: '', headers: { 'if-none-match': '"another"' } })).status).toBe(200);
  },
);
