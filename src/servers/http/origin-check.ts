import { PerdureError } from '../../schema/error.ts';

export interface OriginRules {
  /** Host names that the server answers to, including the loopback names when it listens there. */
  readonly hosts: readonly string[];
  /** Other origins whose pages may send requests from a browser; none by default. */
  readonly origins: readonly string[];
  /** Paths that answer to any host name. */
  readonly anyHost?: readonly string[];
}

const loopback: ReadonlySet<string> = new Set(['localhost', '127.0.0.1', '[::1]']);

export const isLoopback = (host: string): boolean => loopback.has(host) || host === '::1';

const nameOf = (host: string): string => host.replace(/:\d{1,5}$/, '').toLowerCase();

/** Protects against DNS rebinding and against pages of other sites. */
export const refuseForeign = (request: Request, rules: OriginRules): void => {
  const host = request.headers.get('host') ?? '';
  const isProbe = rules.anyHost?.includes(new URL(request.url).pathname) && ['GET', 'HEAD'].includes(request.method);
  if (!isProbe && !rules.hosts.includes(nameOf(host))) {
    throw new PerdureError(
      'FORBIDDEN',
      'this server does not answer to that host name: start it with --allow-host NAME to allow it',
    );
  }
  const origin = request.headers.get('origin');
  if (origin === null || rules.origins.includes(origin)) return;
  const from = URL.parse(origin);
  if (from && from.host.toLowerCase() === host.toLowerCase()) return;
  throw new PerdureError(
    'FORBIDDEN',
    'pages from this origin may not send requests here: start the server with --allow-origin ORIGIN to allow them',
  );
};

/** Only an allowed origin gets these headers. Browsers treat their absence as a refusal. */
export const corsHeaders = (request: Request, { origins }: OriginRules): Record<string, string> => {
  const origin = request.headers.get('origin');
  if (origins.length === 0) return {};
  if (origin === null || !origins.includes(origin)) return { vary: 'origin' };
  return {
    'access-control-allow-origin': origin,
    'access-control-allow-headers':
      'authorization, content-type, idempotency-key, if-match, if-none-match, last-event-id',
    'access-control-allow-methods': 'GET, POST, PUT, PATCH, DELETE',
    'access-control-expose-headers': 'etag, retry-after, x-request-id',
    'access-control-max-age': '600',
    vary: 'origin',
  };
};
