import { expect, test } from 'vitest';
import { z } from 'zod';
import { callCli } from '../../../../test/support/cli/call-cli.ts';
import { startTestServer } from '../../../../test/support/servers/http-server.ts';
import { defineAgent, defineScript, defineTool } from '../../../index.ts';
import type { MemberRole } from '../../../schema/member.ts';

test.each(['admin', 'approver'] as const)(
  '[PIPE10] approve against a server with a worker does not claim that no worker takes the run (%s)',
  async (role: MemberRole) => {
    const begun = Promise.withResolvers<void>();
    const mayEnd = Promise.withResolvers<void>();
    const pay = defineTool({
      name: 'pay',
      input: z.object({}),
      approval: true,
      execute: async () => {
        begun.resolve();
        await mayEnd.promise;
      },
    });
    const model = defineScript({ steps: [{ calls: [{ tool: 'pay', input: {} }] }, { text: 'Paid.' }] });
    const agent = defineAgent({ name: 'payer', model, tools: [pay] });
    const { runtime, server, keys } = await startTestServer({}, { agents: [agent] }, { hasWorker: false });
    await runtime.worker({ concurrency: 1 }).start();
    const session = await runtime.sessions.open({ agent });
    const run = await session.send('Pay');
    expect(await run.result()).toMatchObject({ status: 'waiting', waitingFor: 'approval' });
    const [asked] = await runtime.approvals.list();
    const approving = callCli(['approve', asked!.id, '--server', server.url], { env: { PERDURE_KEY: keys[role] } });
    await begun.promise;
    const { code, out, err } = await approving;
    mayEnd.resolve();
    expect(code).toBe(0);
    expect(out).toContain('is approved');
    expect(err).not.toMatch(/no worker|start one/);
    expect(err).toMatch(/it goes on/);
    expect(await run.waitForEnd()).toMatchObject({ status: 'succeeded', output: 'Paid.' });
  },
);
