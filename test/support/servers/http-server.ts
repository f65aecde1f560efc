import { onTestFinished } from 'vitest';
import { z } from 'zod';
import {
  defineAgent,
  defineScript,
  defineTool,
  openRuntime,
  type Runtime,
  type RuntimeOptions,
} from '../../../src/index.ts';
import type { MemberRole } from '../../../src/schema/member.ts';
import { memberRoles } from '../../../src/schema/member-roles.ts';
import { type HttpServer, type ServeOptions, serveHttp } from '../../../src/servers/http/index.ts';
import { newSqliteFile } from '../stores/sqlite-file.ts';

export interface Asked {
  readonly method?: string;
  readonly body?: unknown;
  readonly headers?: Record<string, string>;
  readonly key?: string | undefined;
  readonly signal?: AbortSignal;
}

export interface TestServer {
  readonly runtime: Runtime;
  readonly server: HttpServer;
  /** API keys of the workspace `local`, one for each role. */
  readonly keys: Readonly<Record<MemberRole, string>>;
  /** API keys of another workspace. */
  readonly foreignKeys: Readonly<Record<MemberRole, string>>;
  /** Sends a request with the admin key, unless `key` is given. */
  ask(path: string, asked?: Asked): Promise<Response>;
  /** Like `ask`, but returns the JSON and throws if the request fails. */
  // biome-ignore lint/suspicious/noExplicitAny: tests inspect answers of every shape
  json(path: string, asked?: Asked): Promise<any>;
}

const echo = defineTool({
  name: 'echo',
  description: 'Says what it is told.',
  input: z.object({ text: z.string() }),
  effects: 'none',
  execute: (input) => input,
});

const script = defineScript({
  name: 'tester',
  everyTurn: true,
  steps: [{ calls: [{ tool: 'echo', input: { text: 'hello' } }] }, { text: 'Done.' }],
});

export const testAgent = defineAgent({
  name: 'tester',
  version: 1,
  model: script,
  instructions: 'Answer.',
  tools: [echo],
});

const keysFor = async (runtime: Runtime, workspace: string): Promise<Record<MemberRole, string>> => {
  const admin = runtime.as({ workspace, member: 'local', role: 'admin' });
  const made = memberRoles.map(async (role) => {
    const member = `the-${role}`;
    await admin.members.add({ id: member, role });
    const { token } = await admin.keys.create({ member, role });
    return [role, token] as const;
  });
  return Object.fromEntries(await Promise.all(made)) as Record<MemberRole, string>;
};

export const startTestServer = async (
  options: ServeOptions = {},
  runtimeOptions: Partial<RuntimeOptions> = {},
  { hasWorker = true } = {},
): Promise<TestServer> => {
  const store = runtimeOptions.store ?? `sqlite:${newSqliteFile()}`;
  const masterKey = Buffer.alloc(32, 7).toString('base64');
  const runtime = await openRuntime({
    masterKey,
    agents: [testAgent],
    worker: false,
    ...runtimeOptions,
    store,
  });
  if (hasWorker) await runtime.worker({ pollMs: 200 }).start();
  await runtime.workspaces.add('other');
  const [keys, foreignKeys] = [await keysFor(runtime, 'local'), await keysFor(runtime, 'other')];
  const server = await serveHttp(runtime, {
    checksAnswers: true,
    rate: { perSecond: 10_000, burst: 10_000 },
    wrongKeyRate: { perSecond: 10_000, burst: 10_000 },
    beatMs: 200,
    ...options,
  });
  onTestFinished(async () => {
    await server.stop();
    await runtime.close();
  });
  const ask: TestServer['ask'] = (path, { method = 'GET', body, headers, key = keys.admin, signal } = {}) =>
    fetch(`${server.url}${path}`, {
      method,
      headers: {
        ...(key !== '' && { authorization: `Bearer ${key}` }),
        ...(body !== undefined && { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
      ...(signal && { signal }),
    });
  const json: TestServer['json'] = async (path, asked) => {
    const response = await ask(path, asked);
    const text = await response.text();
    if (!response.ok) throw new Error(`${asked?.method ?? 'GET'} ${path}: ${response.status} ${text}`);
    return text === '' ? undefined : JSON.parse(text);
  };
  return { runtime, server, keys, foreignKeys, ask, json };
};
