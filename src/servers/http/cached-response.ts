import { createHash } from 'node:crypto';
import { matchesEtag } from './etag-match.ts';

const kept = async (made: Response) => {
  const bytes = new Uint8Array(await made.arrayBuffer());
  const etag = `"${createHash('sha256').update(bytes).digest('base64url')}"`;
  // A browser keeps it too, and asks whether it is still the same.
  const headers = { ...Object.fromEntries(made.headers), etag, 'cache-control': 'no-cache' };
  return { bytes, etag, headers };
};

/** For what anybody may ask for and never changes: it is made once, when it is first asked for. */
export const cachedResponse = (make: () => Response): ((headers: Headers) => Promise<Response>) => {
  let answer: ReturnType<typeof kept> | undefined;
  return async (asked) => {
    answer ??= kept(make());
    const { bytes, etag, headers } = await answer;
    return matchesEtag(asked, etag) ? new Response(null, { status: 304, headers }) : new Response(bytes, { headers });
  };
};
