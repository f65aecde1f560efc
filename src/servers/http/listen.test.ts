import { expect, test } from 'vitest';
import { checkListening, listenHttp } from './listen.ts';

test.each([
  ['127.0.0.1', 99_999, '127.0.0.1, port 99999', 'a port up to 65535'],
  ['999.1.1.1', 0, '999.1.1.1', 'an address of this machine'],
  ['192.0.2.1', 0, '192.0.2.1', 'an address of this machine'],
  ['192.0.2.1', 4730, '192.0.2.1, port 4730', 'an address of this machine'],
])(
  '[START2] listening at %s, port %i fails with an error that says what to change',
  async (host, port, where, advice) => {
    for (const listen of [() => listenHttp(() => new Response(), { host, port }), () => checkListening(host, port)]) {
      await expect(listen()).rejects.toMatchObject({
        code: 'INVALID_INPUT',
        message: expect.stringMatching(`^cannot listen at ${where} \\(\\w+\\): give ${advice}`),
      });
    }
  },
);
