import { escapeHtml, page } from './page.ts';

interface Operation {
  readonly operationId: string;
  readonly summary: string;
  readonly description?: string;
  readonly tags: readonly string[];
  readonly 'x-perdure-role': string;
  readonly parameters: readonly {
    readonly name: string;
    readonly in: string;
    readonly required: boolean;
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

const contentOf = (content: Readonly<Record<string, { readonly schema: unknown }>> = {}): string =>
  Object.entries(content)
    .map(([media, { schema }]) => `<p><code>${escapeHtml(media)}</code></p>${asJson(schema)}`)
    .join('');

const operationOf = (method: string, path: string, operation: Operation): string => {
  const { summary, description, parameters, requestBody, responses } = operation;
  const rows = parameters.map(
    ({ name, in: place, required, schema }) =>
      `<tr><td><code>${escapeHtml(name)}</code></td><td>${place}${required ? ', needed' : ''}</td><td>${escapeHtml(typeOf(schema))}</td></tr>`,
  );
  const [status = '', answer] = Object.entries(responses)[0] ?? [];
  return `<details id="${operation.operationId}"><summary><span class="method">${method.toUpperCase()}</span> <code>${escapeHtml(path)}</code><br><span class="quiet">${escapeHtml(summary)} · ${operation['x-perdure-role']}</span></summary>
${description ? `<p>${escapeHtml(description)}</p>` : ''}${rows.length > 0 ? `<table>${rows.join('')}</table>` : ''}
${requestBody ? `<h3>Body</h3>${contentOf(requestBody.content)}` : ''}<h3>${status}</h3><p>${escapeHtml(answer?.description ?? '')}</p>${contentOf(answer?.content)}</details>`;
};

/** The API to read, drawn from its own description. */
export const docsPage = (document: Record<string, unknown>): Response => {
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
    `<h1>The API</h1><p>Every request acts as one member of one workspace, by its key: <code>authorization: Bearer pdk_…</code>. The same for programs: <a href="/v1/openapi.json">OpenAPI 3.1</a>.</p><nav>${nav}</nav>${sections.join('')}<h2>Schemas</h2>${named.join('')}`,
  );
};
