import type { Env, Hono } from 'hono';
import type { RuntimeProblem } from '../../core/runtime/identities.ts';
import type { Readings } from './observer.ts';

/** Something that keeps a process from its work. Probes need no key, so it names no workspace, path or address. */
export interface Obstacle {
  readonly part: RuntimeProblem['part'] | 'server' | 'worker';
  readonly problem: string;
}

interface Health extends Readings {
  readonly obstacles: () => Promise<readonly Obstacle[]>;
  /** Further facts for the answer to /readyz. */
  readonly facts?: () => Readonly<Record<string, unknown>>;
}

/** Paths that answer to any host name, because a probe names the address of a machine. */
export const probePaths: readonly string[] = ['/healthz', '/readyz'];

/** Shares one check among all requests under way, because anybody may send them. */
const sharing = <T>(check: () => Promise<T>): (() => Promise<T>) => {
  let current: Promise<T> | undefined;
  return () => {
    current ??= check().finally(() => {
      current = undefined;
    });
    return current;
  };
};

export const addHealth = <E extends Env>(app: Hono<E>, { obstacles, facts = () => ({}), metrics }: Health): void => {
  const check = sharing(obstacles);
  app.get('/healthz', () => Response.json({ ok: true }));
  app.get('/readyz', async () => {
    const problems = await check();
    const ok = problems.length === 0;
    return Response.json({ ok, ...(!ok && { problems }), ...facts() }, { status: ok ? 200 : 503 });
  });
  app.get('/metrics', async () => {
    const { type, text } = (await metrics?.()) ?? { type: 'text/plain', text: '' };
    return new Response(text, { headers: { 'content-type': type } });
  });
};
