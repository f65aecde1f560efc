import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';
import { serve } from '@hono/node-server';
import { createMcpHandler } from '@modelcontextprotocol/server';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { Tool } from '../../src/core/ports/tool.ts';
import { defineAgent, openRuntime, type Session } from '../../src/index.ts';
import { scriptedModel } from '../../src/models/scripted.ts';
import { openMemoryStore } from '../../src/testing/memory-store.ts';
import { mcpTools } from '../../src/tools/index.ts';
import { newMcpServer } from '../support/servers/mcp-server.ts';

const value = 'ghp_0123456789-planted';
const ownProcess = {
  command: process.execPath,
  args: [fileURLToPath(new URL('../support/servers/mcp-server.ts', import.meta.url))],
};

/** `seen` holds the header of each request. */
const overHttp = async (): Promise<{ readonly url: string; readonly seen: (string | null)[] }> => {
  const handler = createMcpHandler(newMcpServer);
  const seen: (string | null)[] = [];
  const fetch = (request: Request) => {
    seen.push(request.headers.get('authorization'));
    return handler.fetch(request);
  };
  const server = serve({ fetch, port: 0, hostname: '127.0.0.1', createServer });
  if (!server.listening) await once(server, 'listening');
  onTestFinished(async () => {
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`, seen };
};

const start = async (
  tools: readonly Tool[],
  ...calls: readonly { readonly tool: string; readonly input: object }[]
) => {
  const steps = [...calls.map((call) => ({ calls: [call as never] })), { text: 'done' }];
  const agent = defineAgent({
    name: 'a',
    version: 1,
    model: scriptedModel({ name: 'x', steps, everyTurn: true }),
    tools,
  });
  const runtime = await openRuntime({
    store: openMemoryStore(),
    agents: [agent],
    worker: false,
    masterKey: randomBytes(32).toString('base64'),
  });
  onTestFinished(() => runtime.close());
  await runtime.worker().start();
  return { runtime, session: await runtime.sessions.open({ agent }) };
};

const endsOf = async (session: Session): Promise<readonly unknown[]> => {
  await (await session.send('Go')).result();
  return (await Array.fromAsync(session.events())).flatMap(({ type, payload }) =>
    type === 'tool.completed' || type === 'tool.failed' ? [payload] : [],
  );
};

describe('tools of an MCP server', () => {
  test('[MCP1] are listed with their schemas and called; their failure is a failure of the call', async () => {
    const tools = await mcpTools({ name: 'near', ...ownProcess, effects: 'none' });
    expect(tools.map(({ name }) => name)).toContain('near_echo');
    expect(tools.find(({ name }) => name === 'near_echo')?.inputSchema).toMatchObject({ properties: { text: {} } });
    const { session } = await start(
      tools,
      { tool: 'near_echo', input: { text: 'hello' } },
      { tool: 'near_fails', input: {} },
      { tool: 'near_dies', input: {} },
      { tool: 'near_echo', input: { text: 'again' } },
    );
    expect(await endsOf(session)).toMatchObject([
      { tool: 'near_echo', output: 'hello' },
      { tool: 'near_fails', outcome: 'threw' },
      { tool: 'near_dies', outcome: 'threw' },
      { tool: 'near_echo', output: 'again' },
    ]);
  });

  test("[MCP2, MCP3] over stdio receive the workspace's secrets when they are called, and nothing else of the environment", async () => {
    process.env.HIDDEN = 'the environment';
    onTestFinished(() => {
      delete process.env.HIDDEN;
    });
    const env = { TOKEN: { secret: 'github' } };
    const tools = await mcpTools({ name: 'near', ...ownProcess, env, effects: 'none' });
    const { runtime, session } = await start(tools, { tool: 'near_whoami', input: {} });
    expect(await endsOf(session)).toMatchObject([{ outcome: 'threw', error: { name: 'SecretNotFound' } }]);
    await runtime.vault.set('github', value);
    expect((await endsOf(session)).at(-1)).toMatchObject({ output: '[secret github] of nowhere' });
    await runtime.vault.set('github', `${value}-2`);
    expect((await endsOf(session)).at(-1)).toMatchObject({ output: '[secret github] of nowhere' });
  });

  test('[MCP2] over HTTP receive secrets in headers, and are listed without them', async () => {
    const { url, seen } = await overHttp();
    const tools = await mcpTools({
      name: 'far',
      url,
      headers: { authorization: { secret: 'github', prefix: 'Bearer ' } },
    });
    expect(seen.every((header) => header === null)).toBe(true);
    const { runtime, session } = await start(tools, { tool: 'far_echo', input: { text: 'hello' } });
    await runtime.vault.set('github', value);
    expect(await endsOf(session)).toMatchObject([{ output: 'hello' }]);
    expect(seen.at(-1)).toBe(`Bearer ${value}`);
  });

  test.each([
    [{ name: 'x' }, 'either command or url'],
    [{ name: 'x', command: 'a', url: 'b' }, 'either command or url'],
    [{ name: 'a b', command: 'a' }, 'its name'],
    [{ name: 'x', command: 'a', env: { TOKEN: { secret: 'a b' } } }, 'TOKEN'],
    [{ name: 'x', command: 'a', secrets: [] }, 'secrets'],
    [{ name: 'x', command: '/nowhere/to/be/found' }, 'does not list its tools'],
  ])('[MCP1] %o is rejected', async (server, why) => {
    await expect(mcpTools(server as never)).rejects.toMatchObject({
      code: 'TOOL_INVALID',
      message: expect.stringContaining(why),
    });
  });
});
