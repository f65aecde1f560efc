import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import type { Model, ModelRequest } from '../../src/core/ports/model.ts';
import { defineAgent, defineTool, openRuntime } from '../../src/index.ts';
import { newFolder } from '../support/files/start-run-files.ts';
import { newStorePlace, storeKinds } from '../support/stores/stores.ts';

const usage = { inputTokens: 1, outputTokens: 1 };

test.each(storeKinds)('[PIPE11] the model is told which files a snapshot left out, and why (%s)', async (kind) => {
  const place = await newStorePlace(kind);
  onTestFinished(place.remove);
  const make = defineTool({
    name: 'make',
    input: z.object({}),
    usesFiles: true,
    execute: (_, { folder }) => {
      writeFileSync(join(folder!, '.perdureignore'), '*.log\n');
      writeFileSync(join(folder!, 'run.log'), 'noise');
      writeFileSync(join(folder!, 'kept.txt'), 'kept');
      writeFileSync(join(folder!, 'token.txt'), 'the token is sk-test-0123456789');
      execFileSync('mkfifo', [join(folder!, 'pipe')]);
      return 'made';
    },
  });
  const requests: ModelRequest[] = [];
  const model: Model = {
    name: 'test/model',
    contextTokens: 100_000,
    price: null,
    answer: async (request) => {
      requests.push(request);
      const isFirst = requests.length === 1;
      return isFirst
        ? { parts: [{ type: 'tool-call', callId: 'call_1', tool: 'make', input: {} }], finish: 'tool-calls', usage }
        : { parts: [{ type: 'text', text: 'Done.' }], finish: 'stop', usage };
    },
  };
  const agent = defineAgent({ name: 'maker', model, tools: [make] });
  const runtime = await openRuntime({
    store: place.address,
    data: await newFolder(),
    agents: [agent],
    models: { env: { OPENAI_API_KEY: 'sk-test-0123456789' } },
  });
  onTestFinished(() => runtime.close());
  const session = await runtime.sessions.open({ agent });
  expect(await (await session.send('Make them')).result()).toMatchObject({ status: 'succeeded' });
  const [result] = requests[1]!.messages.at(-1)!.content;
  expect(result).toMatchObject({
    type: 'tool-result',
    outcome: 'ok',
    output: {
      output: 'made',
      problem: `not kept in the session's files: not a regular file: "pipe"; contains a secret: "token.txt"`,
    },
  });
  expect(requests[1]!.instructions).not.toContain('not kept');

  expect(await (await session.send('And now?')).result()).toMatchObject({ status: 'succeeded' });
  const { instructions } = requests[2]!;
  expect(instructions).toContain('# Files that are not kept');
  expect(instructions).toContain('- excluded by an ignore file: "run.log"\n');
  expect(instructions).toContain('- not a regular file: "pipe"\n');
  expect(instructions).toContain('- contains a secret: "token.txt"');
  expect(instructions.split('# Files that are not kept')[1]).not.toContain('kept.txt');
  expect(instructions).toContain('- "kept.txt" created by "make"');
});
