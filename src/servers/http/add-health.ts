import type { Env, Hono } from 'hono';
import type { Readings } from './observer.ts';

export const addHealth = <E extends Env>(
  app: Hono<E>,
  { isReady, metrics }: Readings & { readonly isReady: () => Promise<boolean> },
): void => {
  app.get('/healthz', () => Response.json({ ok: true }));
  app.get('/readyz', async () => {
    const ok = await isReady();
    return Response.json({ ok }, { status: ok ? 200 : 503 });
  });
  app.get('/metrics', async () => {
    const { type, text } = (await metrics?.()) ?? { type: 'text/plain', text: '' };
    return new Response(text, { headers: { 'content-type': type } });
  });
};
