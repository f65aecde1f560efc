import { PerdureError } from '../../schema/error.ts';

export interface OriginRules {
  /** Names under which the server may be asked, beside the loopback ones when it listens there. */
  readonly hosts: readonly string[];
  /** Pages elsewhere that may ask from a browser; none by default. */
  readonly origins: readonly string[];
}

const loopback: ReadonlySet<string> = new Set(['localhost', '127.0.0.1', '[::1]']);

export const isLoopback = (host: string): boolean => loopback.has(host) || host === '::1';

const nameOf = (host: string): string => host.replace(/:\d{1,5}$/, '').toLowerCase();

/** Against pages that rebind a name of theirs to this address, and against those of other sites. */
export const refuseForeign = (request: Request, rules: OriginRules): void => {
  const host = request.headers.get('host') ?? '';
  if (!rules.hosts.includes(nameOf(host))) {
    throw new PerdureError(
      'FORBIDDEN',
      'this server does not answer under that name: start it with --allow-host NAME if it should',
    );
  }
  const origin = request.headers.get('origin');
  if (origin === null || rules.origins.includes(origin)) return;
  const from = URL.parse(origin);
  if (from && from.host.toLowerCase() === host.toLowerCase()) return;
  throw new PerdureError(
    'FORBIDDEN',
    'pages of other sites may not ask here: start the server with --allow-origin ORIGIN if this one may',
  );
};

/** For an origin that may ask; nothing for all others, which is what browsers take as a refusal. */
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
