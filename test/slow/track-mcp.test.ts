import { fileURLToPath } from 'node:url';
import { createMCPClient, type MCPTransport } from '@ai-sdk/mcp';
import { Experimental_StdioMCPTransport as StdioMCPTransport } from '@ai-sdk/mcp/mcp-stdio';
import { Client, InMemoryTransport, type Transport, type VersionNegotiationMode } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { generateText, isStepCount, type ToolSet } from 'ai';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { Session } from '../../src/index.ts';
import { scriptedModel } from '../support/runs/scripted-model.ts';
import { newMcpServer } from '../support/servers/mcp-server.ts';
import { newSession } from '../support/stores/new-session.ts';

const ownProcess = {
  command: process.execPath,
  args: [fileURLToPath(new URL('../support/servers/mcp-server.ts', import.meta.url))],
  stderr: 'ignore' as const,
};

const inMemory = async (): Promise<Transport> => {
  const [near, far] = InMemoryTransport.createLinkedPair();
  await newMcpServer().connect(far);
  return near;
};

const overStdio = async (): Promise<Transport> => new StdioClientTransport(ownProcess);

const newClient = (mode?: VersionNegotiationMode): Client => {
  const client = new Client({ name: 'loop', version: '1.0.0' }, mode && { versionNegotiation: { mode } });
  onTestFinished(() => client.close());
  return client;
};

interface Way {
  readonly open: () => Promise<Transport>;
  readonly mode?: VersionNegotiationMode;
  readonly revision: string;
}
const ways: Readonly<Record<string, Way>> = {
  memory: { open: inMemory, revision: '2025-11-25' },
  stdio: { open: overStdio, revision: '2025-11-25' },
  'stdio without sessions': { open: overStdio, mode: { pin: '2026-07-28' }, revision: '2026-07-28' },
};

const endsOf = async (session: Session) => {
  const ends: unknown[] = [];
  for await (const { type, payload } of session.events()) {
    if (type === 'tool.completed' || type === 'tool.failed') ends.push(payload);
  }
  return ends;
};

describe.each(Object.entries(ways))('an MCP client over %s', (_, { open, mode, revision }) => {
  const connect = async () => {
    const client = newClient(mode);
    await client.connect(await open());
    return client;
  };

  test('[TRACK4] returns what its server returns, and journals every outcome of a call unchanged', async () => {
    const session = await newSession();
    const client: Client = await session.track(await connect(), {
      echo: { effects: 'none', files: (input, output) => ({ [`${input.text}-${output.content.length}`]: 'created' }) },
      fails: { effects: 'none' },
      missing: { effects: 'none' },
      hangs: { effects: 'none' },
    });
    expect(await client.callTool({ name: 'echo', arguments: { text: 'hi' } })).toMatchObject({
      content: [{ text: 'hi' }],
    });
    expect(await client.callTool({ name: 'echo', arguments: { text: 7 } })).toMatchObject({ isError: true });
    expect(await client.callTool({ name: 'fails' })).toMatchObject({ content: [{ text: 'no such file \u0000' }] });
    await expect(client.callTool({ name: 'missing' })).rejects.toMatchObject({ code: -32602 });
    await expect(client.callTool({ name: 'hangs' }, { timeout: 20 })).rejects.toMatchObject({
      code: 'REQUEST_TIMEOUT',
    });
    const user = new AbortController();
    const leave = () => user.abort(new Error('the user has left'));
    const left = client.callTool({ name: 'hangs' }, { signal: user.signal, onprogress: leave });
    await expect(left).rejects.toThrow('the user has left');
    expect(await endsOf(session)).toMatchObject([
      { tool: 'echo', output: { content: [{ type: 'text', text: 'hi' }] } },
      { tool: 'echo', outcome: 'threw', error: { message: expect.stringContaining('validation') } },
      { tool: 'fails', outcome: 'threw', error: { name: 'ToolError', message: 'no such file \ufffd' } },
      { tool: 'missing', outcome: 'threw', error: { message: expect.stringContaining('missing not found') } },
      { tool: 'hangs', outcome: 'timeout' },
      { tool: 'hangs', outcome: 'cancelled' },
    ]);
    expect((await session.state()).filesModified).toMatchObject({ 'hi-1': { tool: 'echo' } });
    expect(await session.verify()).toMatchObject({ ok: true });
  });

  test('[TRACK3] otherwise behaves like the original client', async () => {
    const session = await newSession();
    const plain = newClient(mode);
    const client = await session.track(plain);
    let closed = 0;
    client.onclose = () => {
      closed += 1;
    };
    await client.connect(await open());
    expect(client).toBeInstanceOf(Client);
    expect(client.getServerVersion()).toMatchObject({ name: 'tools' });
    expect((await client.listTools()).tools.map(({ name }) => name)).toEqual([
      'echo',
      'fails',
      'hangs',
      'whoami',
      'dies',
    ]);
    expect(client.getNegotiatedProtocolVersion()).toBe(revision);
    expect(client.transport).toBe(plain.transport);
    await client.close();
    expect(closed).toBe(1);
    await expect(client.callTool({ name: 'echo', arguments: { text: 'hi' } })).rejects.toThrow();
    expect((await session.toolCalls()).calls).toMatchObject([{ tool: 'echo', status: 'threw' }]);
  });

  test('[TRACK1] concurrent calls all land', async () => {
    const session = await newSession();
    const client = await session.track(await connect());
    const texts = Array.from({ length: 10 }, (_, n) => `text ${n}`);
    const results = await Promise.all(texts.map((text) => client.callTool({ name: 'echo', arguments: { text } })));
    expect(results.map(({ content }) => content)).toEqual(texts.map((text) => [{ type: 'text', text }]));
    expect((await session.toolCalls({ status: 'ok' })).calls).toHaveLength(10);
  });
});

test('[TRACK4] a server that dies during a call leaves a failed call, not a running one', async () => {
  const session = await newSession();
  const client = await session.track(newClient());
  await client.connect(await overStdio());
  await expect(client.callTool({ name: 'dies' })).rejects.toThrow();
  expect((await session.toolCalls()).calls).toMatchObject([{ tool: 'dies', status: 'threw' }]);
});

test('[TRACK3] a client with private fields can still access them', async () => {
  class CountingClient extends Client {
    #calls = 0;
    get calls() {
      return this.#calls;
    }
    set calls(calls) {
      this.#calls = calls;
    }
    override callTool(...request: Parameters<Client['callTool']>) {
      this.#calls += 1;
      return super.callTool(...request);
    }
  }
  const client = await (await newSession()).track(new CountingClient({ name: 'loop', version: '1.0.0' }));
  await client.connect(await inMemory());
  client.calls = 5;
  await client.callTool({ name: 'echo', arguments: { text: 'hi' } });
  expect(client.calls).toBe(6);
});

describe("the AI SDK's MCP client", () => {
  const open = async () => {
    const transport: MCPTransport = new StdioMCPTransport(ownProcess);
    const client = await createMCPClient({ transport });
    onTestFinished(() => client.close());
    return client;
  };
  const model = () =>
    scriptedModel([
      { id: 'm1', tool: 'echo', input: { text: 'hi' } },
      { id: 'm2', tool: 'fails', input: {} },
    ]);
  const loop = (tools: ToolSet) => generateText({ model: model(), tools, prompt: 'go', stopWhen: isStepCount(3) });
  const ends = [
    { callId: 'm1', tool: 'echo', output: { content: [{ text: 'hi' }] } },
    { callId: 'm2', tool: 'fails', outcome: 'threw', error: { message: 'no such file \ufffd' } },
  ];

  test('[TRACK1] its tools are tracked in the loop of generateText', async () => {
    const session = await newSession();
    const { text, steps } = await loop(await session.track(await (await open()).tools()));
    expect(text).toBe('done');
    expect(steps[0]!.toolResults).toMatchObject([{ output: { content: [{ text: 'hi' }] } }, { output: {} }]);
    expect(
      (await endsOf(session)).toSorted((a, b) => JSON.stringify(a).localeCompare(JSON.stringify(b))),
    ).toMatchObject(ends);
  });

  test('[TRACK1] the tools of a tracked client are tracked, and so is its callTool', async () => {
    const session = await newSession();
    const client = await session.track(await open(), { hangs: { effects: 'none' }, fails: { effects: 'none' } });
    await loop(await client.tools());
    const user = new AbortController();
    const left = client.callTool({ name: 'hangs', options: { signal: user.signal } });
    user.abort();
    await expect(left).rejects.toThrow();
    expect((await session.toolCalls()).calls).toMatchObject([{ tool: 'hangs', status: 'cancelled' }, {}, {}]);
    expect((await session.toolCalls({ status: 'ok' })).calls).toMatchObject([{ callId: 'm1' }]);
    expect((await session.toolCalls({ status: 'threw' })).calls).toMatchObject([{ callId: 'm2' }]);
  });
});
