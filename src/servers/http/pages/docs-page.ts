import { escapeHtml, page, textToHtml } from './page.ts';

interface Operation {
  readonly operationId: string;
  readonly summary: string;
  readonly description?: string;
  readonly tags: readonly string[];
  readonly 'x-perdure-role': string;
  readonly 'x-perdure-whom'?: string;
  readonly parameters: readonly {
    readonly name: string;
    readonly in: string;
    readonly required: boolean;
    readonly description?: string;
    readonly schema: unknown;
  }[];
  readonly requestBody?: { readonly content: Readonly<Record<string, { readonly schema: unknown }>> };
  readonly responses: Readonly<
    Record<
      string,
      { readonly description: string; readonly content?: Readonly<Record<string, { readonly schema: unknown }>> }
    >
  >;
}

const typeOf = (schema: unknown): string => {
  const { type, $ref, enum: choices } = schema as { type?: string; $ref?: string; enum?: readonly unknown[] };
  if ($ref) return $ref.split('/').at(-1)!;
  return choices ? choices.join(' | ') : (type ?? 'any');
};

const asJson = (value: unknown): string => `<pre>${escapeHtml(JSON.stringify(value, null, 2))}</pre>`;

/** Links to a named schema, which is shown at the end of the page. */
const schemaOf = (schema: unknown): string => {
  const { $ref } = schema as { $ref?: string };
  return $ref ? `<p><a href="#schema-${typeOf(schema)}">${typeOf(schema)}</a></p>` : asJson(schema);
};

const contentOf = (content: Readonly<Record<string, { readonly schema: unknown }>> = {}): string =>
  Object.entries(content)
    .map(([media, { schema }]) => `<p><code>${escapeHtml(media)}</code></p>${schemaOf(schema)}`)
    .join('');

/** Says who may call an operation. `x-perdure-whom` is used where the role alone does not decide. */
const needs = (operation: Operation): string =>
  operation['x-perdure-whom']
    ? `needs ${operation['x-perdure-whom']}`
    : `needs the role ${operation['x-perdure-role']}`;

const operationOf = (method: string, path: string, operation: Operation): string => {
  const { summary, description, parameters, requestBody, responses } = operation;
  const rows = parameters.map(
    ({ name, in: place, required, description = '', schema }) =>
      `<tr><td><code>${escapeHtml(name)}</code></td><td>${description ? `${textToHtml(description)}<br>` : ''}<span class="quiet">${place}${required ? ', required' : ''}: ${escapeHtml(typeOf(schema))}</span></td></tr>`,
  );
  const [status = '', answer] = Object.entries(responses)[0] ?? [];
  return `<details id="${operation.operationId}"><summary><span class="method">${method.toUpperCase()}</span> <code>${escapeHtml(path)}</code><br>${textToHtml(summary)} <span class="quiet">· ${escapeHtml(needs(operation))}</span></summary>
${description ? `<p>${textToHtml(description)}</p>` : ''}${rows.length > 0 ? `<table>${rows.join('')}</table>` : ''}
${requestBody ? `<h3>Body</h3>${contentOf(requestBody.content)}` : ''}<h3>Answer ${status}</h3><p>${textToHtml(answer?.description ?? '')}</p>${contentOf(answer?.content)}</details>`;
};

/** The server's address and one of its agents. */
interface Here {
  readonly address: string;
  readonly agent?: string | undefined;
}

/** Opens a session, sends an input and waits for the answer. */
const example = ({ address, agent = 'demo' }: Here): string => `api=${address}/v1
key="authorization: Bearer $PERDURE_KEY"
json="content-type: application/json"
session=$(curl -s -H "$key" -H "$json" $api/sessions -d '{"agent":{"name":"${agent}"}}' | jq -r .id)
run=$(curl -s -H "$key" -H "$json" $api/sessions/$session/runs -d '{"input":"hello"}' | jq -r .run)
curl -s -H "$key" "$api/sessions/$session/runs/$run?wait=true"`;

const introduction = (here: Here): string =>
  `<h1>The API</h1>
<p>Every request acts as one member of one workspace, both given by its key: <code>authorization: Bearer pdk_…</code>. Each route says which role it needs. The machine-readable version is at <a href="/v1/openapi.json">/v1/openapi.json</a> (OpenAPI 3.1).</p>
<h2>Try it</h2>
<p>With a key in <code>PERDURE_KEY</code>, this opens a session, sends it an input and waits for the answer:</p>
<pre>${escapeHtml(example(here))}</pre>`;

/** Documentation page of the API, drawn from its OpenAPI document. */
export const docsPage = (document: Record<string, unknown>, here: Here): Response => {
  const paths = document.paths as Record<string, Record<string, Operation>>;
  const { schemas } = document.components as { readonly schemas: Record<string, unknown> };
  const all = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ method, path, operation })),
  );
  const areas = Map.groupBy(all, ({ operation }) => operation.tags[0]!);
  const sections = [...areas].map(
    ([area, members]) =>
      `<h2 id="${area}">${area}</h2>${members.map(({ method, path, operation }) => operationOf(method, path, operation)).join('')}`,
  );
  const named = Object.entries(schemas).map(
    ([name, schema]) =>
      `<details id="schema-${name}"><summary><code>${name}</code></summary>${asJson(schema)}</details>`,
  );
  const nav = [...areas.keys()].map((area) => `<a href="#${area}">${area}</a>`).join('');
  return page(
    'Perdure: the API',
    `${introduction(here)}<h2>Routes</h2><nav>${nav}<a href="#schemas">schemas</a></nav>${sections.join('')}<h2 id="schemas">Schemas</h2>${named.join('')}`,
  );
};
