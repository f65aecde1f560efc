import { createHash } from 'node:crypto';
import { matchesEtag } from './etag-match.ts';

const kept = async (made: Response) => {
  const bytes = new Uint8Array(await made.arrayBuffer());
  const etag = `"${createHash('sha256').update(bytes).digest('base64url')}"`;
  // A browser may cache the answer too, but must revalidate it.
  const headers = { ...Object.fromEntries(made.headers), etag, 'cache-control': 'no-cache' };
  return { bytes, etag, headers };
};

/** Serves a public answer that never changes: it is built on the first request and kept in memory. */
export const cachedResponse = (make: () => Response): ((headers: Headers) => Promise<Response>) => {
  let answer: ReturnType<typeof kept> | undefined;
  return async (asked) => {
    answer ??= kept(make());
    const { bytes, etag, headers } = await answer;
    return matchesEtag(asked, etag) ? new Response(null, { status: 304, headers }) : new Response(bytes, { headers });
  };
};
