import { expect, onTestFinished, test } from 'vitest';
import { callCli, callCliOn } from '../../../test/support/cli/call-cli.ts';
import { messagesApi } from '../../../test/support/providers/messages-api.ts';
import { startProvider, testKey } from '../../../test/support/providers/provider-server.ts';
import { responsesApi } from '../../../test/support/providers/responses-api.ts';
import { newMemoryDatabase } from '../../testing/memory-database.ts';

test.each([
  ['ANTHROPIC_API_KEY', 'ANTHROPIC_BASE_URL', messagesApi, {}, /^claude-/],
  ['OPENAI_API_KEY', 'OPENAI_BASE_URL', responsesApi, {}, /^gpt-/],
  ['OPENAI_API_KEY', 'OPENAI_BASE_URL', responsesApi, { PERDURE_MODEL: 'openai/mine' }, /^mine$/],
])(
  '[CLIR17] with %s set, the agent demo calls a model of that provider (%s, %o, %o)',
  async (key, url, api, more, model) => {
    const provider = await startProvider(api);
    onTestFinished(() => provider.close());
    provider.reply({ answer: { text: 'Thought about.' } });
    const env = { [key]: testKey, [url]: provider.url, ...more };
    const database = newMemoryDatabase();
    const sent = await callCliOn(database, ['send', '--new', 'Hello'], { env });
    expect(sent).toMatchObject({ code: 0, out: 'Thought about.\n' });
    expect(provider.requests[0].model).toMatch(model);
    const { out, err } = await callCli(['agents', '--json'], { env });
    expect(JSON.parse(out).agents).toMatchObject([
      { name: 'demo', version: 1, model: expect.stringMatching(/\/(claude|gpt|mine)/) },
    ]);
    expect(err).not.toContain('script');
  },
);

test('[CLIR17] a blank provider key is treated as missing, so the demo agent is a script', async () => {
  const { err } = await callCli(['agents'], { env: { ANTHROPIC_API_KEY: ' ' } });
  expect(err.replaceAll('\n', ' ')).toContain('the agent demo is a script, not a model');
});
