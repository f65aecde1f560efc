import { McpServer } from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import { z } from 'zod';

const said = (text: string) => ({ content: [{ type: 'text' as const, text }] });

/** A server built with the official SDK. Its tools cover all possible outcomes of a tool. */
export const newMcpServer = (): McpServer => {
  const server = new McpServer({ name: 'tools', version: '1.0.0' });
  server.registerTool('echo', { inputSchema: z.object({ text: z.string() }) }, async ({ text }) => said(text));
  server.registerTool('fails', {}, async () => {
    throw new Error('no such file \u0000');
  });
  server.registerTool('hangs', {}, async ({ mcpReq }) => {
    const { promise, resolve } = Promise.withResolvers<void>();
    mcpReq.signal.addEventListener('abort', () => resolve(), { once: true });
    const progressToken = mcpReq._meta?.progressToken;
    if (progressToken !== undefined) {
      await mcpReq.notify({ method: 'notifications/progress', params: { progressToken, progress: 1 } });
    }
    await promise;
    return said('too late');
  });
  server.registerTool('whoami', {}, async () =>
    said(`${process.env.TOKEN ?? 'nobody'} of ${process.env.HIDDEN ?? 'nowhere'}`),
  );
  server.registerTool('dies', {}, () => process.exit(1));
  return server;
};

if (import.meta.main) serveStdio(newMcpServer);
