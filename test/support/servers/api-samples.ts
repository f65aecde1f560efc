/**
 * Sample parameters and bodies for every route, so that tests can call each one. A route without a sample here fails
 * its tests.
 */

interface Operation {
  readonly operationId: string;
  readonly 'x-perdure-role': string;
  readonly 'x-perdure-areas': readonly string[];
  readonly parameters: readonly { readonly name: string; readonly in: string; readonly required: boolean }[];
  readonly requestBody?: { readonly required: boolean; readonly content: Readonly<Record<string, unknown>> };
}

export interface SampleRoute extends Operation {
  readonly method: string;
  readonly path: string;
}

export const operationsOf = (document: Record<string, unknown>): readonly SampleRoute[] =>
  Object.entries(document.paths as Record<string, Record<string, Operation>>).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ ...operation, method: method.toUpperCase(), path })),
  );

/** Path parameters, also used for queries. Tests replace the session and run ids with ones that exist. */
const parameters: Readonly<Record<string, string>> = {
  session: 'ses_01jd3v8m9k5x7q2w4e6r8t0y1a',
  run: 'run_01jd3v8m9k5x7q2w4e6r8t0y1a',
  approval: 'apr_01jd3v8m9k5x7q2w4e6r8t0y1a',
  call: 'call_1',
  verification: 'ver_01jd3v8m9k5x7q2w4e6r8t0y1a',
  seq: '1',
  fact: 'port',
  member: 'nobody',
  key: 'key_01jd3v8m9k5x7q2w4e6r8t0y1a',
  name: 'report.txt',
  path: 'a.txt',
  from: 'seq:1',
  to: 'seq:1',
  secret: 'github',
  webhook: 'whk_01jd3v8m9k5x7q2w4e6r8t0y1a',
  delivery: 'dlv_01jd3v8m9k5x7q2w4e6r8t0y1a_0123456789ab_0123456789abcdef',
};
const queries: Readonly<Record<string, string | readonly string[]>> = {
  ...parameters,
  key: 'turn:1',
  branch: ['seq:1', 'seq:1'],
};

/** Bodies of the routes that require one. */
const bodies: Readonly<Record<string, unknown>> = {
  appendMessages: { messages: [{ role: 'user', content: 'Hello' }] },
  sendInput: { input: 'Hello' },
  answerQuestion: { text: 'Yes' },
  beginCall: { tool: 'refund', input: { order: 'A1' } },
  endCall: { token: `1.${'0'.repeat(32)}`, output: 'refunded' },
  commitState: { patch: [{ op: 'add', path: '/facts/port', value: 1 }] },
  clearTaint: { reason: 'looked' },
  liftProvenance: { paths: ['/facts/port'], to: 'verified', why: 'looked' },
  rewindSession: { to: { seq: 1 } },
  adoptBranch: { branch: parameters.session },
  retryTurn: { turn: 1 },
  replayTurn: { turn: 1 },
  handOffSession: { to: 'human' },
  limitSession: { limits: { turns: 5 } },
  bindAgent: { name: 'tester' },
  restoreFiles: { to: { seq: 1 } },
  updateSession: { title: 'Another' },
  addMember: { id: 'somebody' },
  createKey: { areas: ['keys'] },
  createToken: { member: 'nobody' },
  setSecret: { value: 'a value of a secret' },
  addWebhook: { url: 'https://example.org/hook', events: ['run.ended'] },
};

const missing = (what: string): never => {
  throw new Error(`test/support/servers/api-samples.ts has no ${what}`);
};

/** The URL with its parameters filled in, and the options for `fetch`. */
export const sampleOf = (route: SampleRoute, own: Readonly<Record<string, string>> = {}) => {
  const { path, method, requestBody, operationId } = route;
  const filled = path.replace(/\{(\w+)\}/g, (_, name: string) =>
    encodeURIComponent(own[name] ?? parameters[name] ?? missing(`parameter ${name}`)),
  );
  const needed = route.parameters.filter((each) => each.in === 'query' && each.required);
  const query = needed.flatMap(({ name }) =>
    [queries[name] ?? missing(`query ${name}`)].flat().map((value) => `${name}=${encodeURIComponent(value)}`),
  );
  const isJson = requestBody?.content['application/json'] !== undefined;
  const body = bodies[operationId] ?? (requestBody?.required && isJson ? missing(`body for ${operationId}`) : {});
  return {
    address: `${filled}${query.length > 0 ? `?${query.join('&')}` : ''}`,
    init: {
      method,
      ...(requestBody && {
        body: isJson ? JSON.stringify(body) : 'bytes',
        headers: { 'content-type': isJson ? 'application/json' : 'application/octet-stream' },
      }),
    } as { method: string; body?: string; headers?: Record<string, string> },
  };
};
