import { escapeHtml, factsTable, page } from './page.ts';

export interface Home {
  readonly version: string;
  readonly store: string;
  readonly agents: readonly string[];
  readonly worksHere: boolean;
  readonly address: string;
}

/** Home page: says which agents and store this server has, and links to the other pages. */
export const homePage = ({ version, store, agents, worksHere, address }: Home): Response => {
  const facts = [
    ['version', version],
    ['store', store],
    ['agents', agents.join(', ') || 'none'],
    ['worker', worksHere ? 'part of this server' : 'elsewhere: start `perdure worker`'],
  ] as const;
  const example = `curl -H "authorization: Bearer $PERDURE_KEY" ${address}/v1/sessions\nperdure ls --server ${address}`;
  return page(
    'Perdure',
    `<h1>Perdure</h1><p>A durable session runtime for agents runs here.</p>${factsTable(facts)}
<h2>More</h2><nav><a href="/v1/docs">API documentation</a><a href="/v1/openapi.json">OpenAPI 3.1</a><a href="/healthz">Health</a></nav>
<h2>Send a request</h2><p>Put a key into <code>PERDURE_KEY</code>. The key of the first start is in <code>api-key</code> of the server's data folder, by default <code>.perdure</code>. On the store itself, without <code>--server</code>, <code>perdure keys create</code> makes another one.</p><pre>${escapeHtml(example)}</pre>`,
  );
};
