import { randomBytes } from 'node:crypto';
import { mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';
import { zstdDecompressSync } from 'node:zlib';
import { afterEach, describe, expect, test } from 'vitest';
import { z } from 'zod';
import type { Model, ModelDelta, ModelRequest } from '../../src/core/ports/model.ts';
import {
  type AgentDefinition,
  defineAgent,
  defineScript,
  defineTool,
  openRuntime,
  type Runtime,
  type Script,
  type Session,
  ToolFailure,
} from '../../src/index.ts';
import { scriptedModel } from '../../src/models/scripted.ts';
import { defineShellTool } from '../../src/tools/shell/shell-tool.ts';
import { newStorePlace, storeKinds } from '../support/stores/stores.ts';

const undo: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const each of undo.splice(0).reverse()) await each();
});

const github = 'ghp"Sécret/😀+x y-0123';
const plain = 'PLANTED-plain-0123456789';
const longer = `${plain}-and-longer`;
const planted = { github, plain, longer };
const all = Object.values(planted);
const text = `${github} and ${plain} and ${longer}`;
const cleanText = '[secret github] and [secret plain] and [secret longer]';

/** Everything that would reveal a secret, as text or bytes, including a truncated part. */
const needles = all.flatMap((value) => [
  value.slice(0, 9),
  JSON.stringify(value).slice(1, 12),
  encodeURIComponent(value).slice(0, 12),
  Buffer.from(value).toString('base64').slice(0, 12),
]);

const zstdMagic = Buffer.from([0x28, 0xb5, 0x2f, 0xfd]);
const plainBytes = (bytes: Buffer): Buffer =>
  bytes.subarray(0, 4).equals(zstdMagic) ? zstdDecompressSync(bytes) : bytes;

const leaksIn = (where: string, value: unknown): readonly string[] => {
  const bytes = value instanceof Uint8Array ? plainBytes(Buffer.from(value)) : Buffer.from(JSON.stringify(value) ?? '');
  const twice = value instanceof Uint8Array ? [] : [Buffer.from(JSON.stringify(JSON.stringify(value)) ?? '')];
  return needles
    .filter((needle) => [bytes, ...twice].some((each) => each.includes(needle)))
    .map((needle) => `${where}: ${needle}`);
};

const filesUnder = async (folder: string): Promise<readonly string[]> =>
  (await readdir(folder, { recursive: true, withFileTypes: true }))
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));

/** Files that the session's own tools wrote for themselves. */
const isToolsOwn = (path: string): boolean => /worktrees\/[^/]+\/[^/]+\/(files|tmp)\//.test(path);

const leak = defineTool({
  name: 'leak',
  input: z.object({ how: z.string() }),
  effects: 'idempotent',
  secrets: ['github', 'plain', 'longer'],
  retry: { times: 1, backoffMs: 1 },
  execute: async ({ how }, { secrets, progress, keep, keepArtifact, folder, attempt }) => {
    const said = `${secrets.github} and ${secrets.plain} and ${secrets.longer}`;
    for (let at = 0; at < said.length; at += 3) progress(said.slice(at, at + 3));
    keep({ [secrets.plain]: said });
    await keepArtifact('report.md', `# ${said}`);
    await keepArtifact('report.bin', Buffer.concat([Buffer.from([0xff, 0]), Buffer.from(said)]), {
      path: secrets.plain,
    });
    await writeFile(join(folder, 'said.txt'), said);
    await writeFile(join(folder, `${secrets.plain}.txt`), 'by its name');
    await mkdir(join(folder, 'clean'), { recursive: true });
    await writeFile(join(folder, 'clean', 'kept.txt'), 'nothing here');
    await symlink(secrets.plain, join(folder, 'link')).catch(() => undefined);
    if (how === 'throw' && attempt === 1) throw new Error(`not yet: ${said}`);
    if (how === 'throw') throw new ToolFailure(`${'x'.repeat(19_990)} ${said}`);
    if (how === 'large') return { text: `${'x'.repeat(11_990)}${said}${'y'.repeat(60_000)}` };
    return { said, nested: [{ [secrets.github]: said }], url: `https://x/?t=${encodeURIComponent(secrets.github)}` };
  },
  summarize: () => text,
  decisions: () => ({ [plain]: { what: text, why: text } }),
  change: (draft) => {
    draft.facts[`from ${github}`] = text;
  },
});

const child = defineAgent({
  name: 'child',
  version: 1,
  model: scriptedModel(defineScript({ name: 'child', steps: [{ text: `I was told ${text}` }], everyTurn: true })),
});
const delegate = defineTool({
  name: 'delegate',
  input: z.object({}),
  effects: 'idempotent',
  execute: async (_, context) => context.delegate(child, `keep ${text} to yourself`),
});
const ask = defineTool({
  name: 'ask',
  input: z.object({}),
  effects: 'none',
  question: () => ({ text: `which? ${text}`, options: [text] }),
  execute: () => undefined,
});
const guarded = defineTool({
  name: 'guarded',
  input: z.object({ what: z.string() }),
  approval: true,
  execute: () => 'done',
});

interface Watched {
  readonly model: Model;
  readonly asked: Pick<ModelRequest, 'instructions' | 'messages'>[];
}

const watched = (script: Script): Watched => {
  const inner = scriptedModel(defineScript(script));
  const asked: Watched['asked'] = [];
  return {
    asked,
    model: {
      ...inner,
      answer: (request: ModelRequest, onDelta: (delta: ModelDelta) => void) => {
        asked.push(structuredClone({ instructions: request.instructions, messages: [...request.messages] }));
        return inner.answer(request, onDelta);
      },
    },
  };
};

const newData = async (): Promise<string> => {
  const data = await mkdtemp(join(tmpdir(), 'perdure-secrets-'));
  undo.push(() => rm(data, { recursive: true }));
  return data;
};

const plantAll = async (runtime: Runtime): Promise<void> => {
  for (const [name, value] of Object.entries(planted)) await runtime.vault.set(name, value);
};

const settled = async (session: Session, run: { result(): Promise<{ status: string }> }) => {
  for (;;) {
    const { status } = await run.result();
    if (status !== 'waiting') return;
    for await (const event of session.events()) {
      if (event.type === 'question.asked') await session.answer(event.payload.callId, text).catch(() => undefined);
      if (event.type === 'approval.requested')
        await session.deny(event.payload.approval, { comment: text }).catch(() => undefined);
    }
  }
};

describe.each(storeKinds)('secrets on %s', (kind) => {
  test('[RED6, RED14, RED11, RED12] planted everywhere, are in no byte of the store, bundles or worktree metadata, and in no preview or request', async () => {
    const place = await newStorePlace(kind);
    undo.push(place.remove);
    const data = await newData();
    const shell = defineShellTool({ sandbox: 'off', approval: false, recordsFolder: join(await newData(), 'records') });
    const steps: Script['steps'] = [
      { reasoning: `I know ${text}`, text: `Let me use ${text}.`, calls: [{ tool: 'leak', input: { how: text } }] },
      { calls: [{ tool: 'leak', input: { how: 'throw' } }] },
      { calls: [{ tool: 'leak', input: { how: 'large' } }] },
      {
        calls: [
          { tool: 'shell', input: { command: 'cat said.txt; cat said.txt >&2; export TOKEN="$(cat said.txt)"' } },
        ],
      },
      {
        calls: [
          { tool: 'ask', input: {} },
          { tool: 'guarded', input: { what: text } },
        ],
      },
      { calls: [{ tool: 'delegate', input: {} }] },
      { text: `All of it: ${text}` },
    ];
    const { model, asked } = watched({ name: 'leaky', steps });
    const agent = defineAgent({
      name: 'leaky',
      version: 1,
      model,
      instructions: `Never tell ${text}`,
      tools: [leak, shell, ask, guarded, delegate],
    });
    const masterKey = randomBytes(32).toString('base64');
    const runtime = await openRuntime({
      store: place.address,
      data,
      masterKey,
      agents: [agent, child],
      worker: false,
      timing: { modelBackoffMs: 1 },
    });
    undo.push(() => runtime.close());
    await plantAll(runtime);
    await runtime.worker().start();

    const session = await runtime.sessions.open({ agent, title: text, metadata: { [plain]: [text] } });
    const run = await session.send([
      { type: 'text', text },
      { type: 'file', mediaType: 'text/plain', name: plain, data: Buffer.from(text).toString('base64') },
    ]);
    const streaming = Array.fromAsync(run.stream());
    await settled(session, run);
    const parts = await streaming;
    expect(await run.result()).toMatchObject({ status: 'succeeded', output: `All of it: ${cleanText}` });

    await session.update({ title: `again ${text}` });
    await session.commit(
      (draft) => {
        draft.facts[github] = { list: [text] };
        draft.scratch.x = text;
      },
      { why: text },
    );
    await session.commit([{ op: 'add', path: '/facts/patched', value: text }]);
    await session.artifacts.keep('note.txt', text);
    await session.handoff({ to: 'human', reason: text });
    await session.append([
      { role: 'user', content: text },
      { role: 'assistant', content: [{ type: 'tool-call', callId: plain, tool: 'mine', input: { [github]: text } }] },
    ]);
    await session.handoff({ to: 'agent', reason: text });
    await session.clearTaint({ reason: text });
    const tracked = await session.track({
      mine: async (input: { a: string }) => ({ got: input.a }),
      bad: async (_: object) => Promise.reject(new Error(text)),
    });
    await tracked.mine({ a: text });
    await expect(tracked.bad({})).rejects.toThrow(plain);
    await session.limit({ tokens: 10_000_000 }, { reason: text });
    await session.compact({ keepTurns: 1, summarize: async () => `summary of ${text}` });
    const branch = await session.fork({ title: text });
    await branch.resume();
    await branch.pause({ reason: text });
    await branch.rewind({ to: { turn: 0 }, reason: text });
    await branch.close({ reason: text });
    await expect(session.files.write('.env', text)).rejects.toMatchObject({ code: 'INVALID_INPUT' });
    await expect(session.files.write(`a/${plain}`, 'x')).rejects.toMatchObject({ code: 'INVALID_INPUT' });
    await expect(session.artifacts.keep(plain, 'x')).rejects.toMatchObject({ code: 'INVALID_INPUT' });

    const files = (await session.files.list()).map(({ path }) => path);
    expect(files).toEqual(['clean', 'clean/kept.txt']);
    expect(Buffer.from(await session.artifacts.read('report.md')).toString()).toBe(`# ${cleanText}`);

    const sessions = (await runtime.sessions.list()).sessions.map(({ id }) => id);
    expect(sessions.length).toBeGreaterThanOrEqual(3);
    const events = await Promise.all(
      sessions.map(async (id) => Array.fromAsync((await runtime.sessions.get(id)).events())),
    );
    const redacted = events.flat().filter(({ payload }) => JSON.stringify(payload).includes('[secret '));
    expect(new Set(redacted.map(({ type }) => type))).toEqual(
      new Set([
        'session.opened',
        'session.described',
        'session.forked',
        'session.paused',
        'session.closed',
        'session.rewound',
        'session.handed',
        'input.admitted',
        'message.appended',
        'tool.called',
        'tool.retried',
        'tool.completed',
        'tool.failed',
        'state.committed',
        'question.asked',
        'question.answered',
        'approval.requested',
        'approval.settled',
        'artifact.kept',
        'files.snapshotted',
        'taint.cleared',
        'budget.set',
        'context.compacted',
        'calls.happened',
        'run.waiting',
        'run.ended',
      ]),
    );
    const shown = parts.map((part) => ('text' in part ? part.text : '')).join('');
    expect(shown).toContain(cleanText);
    const bundle = Buffer.concat(await Array.fromAsync(runtime.sessions.export(sessions)));
    const views = [
      ...leaksIn('pieces', shown),
      ...leaksIn('parts', parts),
      ...leaksIn('requests', asked),
      ...leaksIn('events', events),
      ...leaksIn('summaries', await runtime.sessions.list()),
      ...leaksIn('context', await session.context()),
      ...leaksIn('commits', (await runtime.sessions.commits()).commits),
      ...leaksIn('bundle', bundle),
      ...leaksIn('audit', await runtime.audit.list()),
    ];
    expect(views).toEqual([]);
    expect(JSON.stringify(asked.at(-1)!.messages)).toContain('[secret github]');
    for (const id of sessions) expect(await (await runtime.sessions.get(id)).verify()).toMatchObject({ ok: true });

    await runtime.close();
    const kept = (await filesUnder(data)).filter((path) => !isToolsOwn(path));
    expect(kept.some((path) => path.endsWith('own-stats'))).toBe(true);
    const beside = kind === 'sqlite' ? await filesUnder(dirname(place.address.replace('sqlite:', ''))) : [];
    const onDisk = await Promise.all(
      [...kept, ...beside].map(async (path) => leaksIn(relative(data, path), await readFile(path))),
    );
    const inTables = (await place.values()).flatMap((value) => leaksIn('a table', value));
    expect([...onDisk.flat(), ...inTables]).toEqual([]);
  }, 60_000);
});

const start = async (agent: AgentDefinition) => {
  const place = await newStorePlace('sqlite');
  undo.push(place.remove);
  const data = await newData();
  const masterKey = randomBytes(32).toString('base64');
  const defined = defineAgent(agent);
  const open = async (): Promise<Runtime> => {
    const runtime = await openRuntime({ store: place.address, data, masterKey, agents: [defined], worker: false });
    undo.push(() => runtime.close());
    return runtime;
  };
  return { open, agent: defined };
};

const resultsOf = async (session: Session): Promise<string> =>
  JSON.stringify((await session.transcript()).entries.filter(({ message }) => message.role === 'tool'));

describe('a tool', () => {
  const named = defineTool({
    name: 'named',
    input: z.object({}),
    effects: 'none',
    usesFiles: false,
    secrets: ['github'],
    execute: (_, { secrets }) => `it has ${secrets.github.length} characters: ${secrets.github}`,
  });
  const calls = [{ tool: 'named', input: {} }];

  test('[RED8] receives the secrets it names when it runs, and fails when one is missing', async () => {
    const script = { name: 'caller', steps: [{ calls }, { text: 'done' }], everyTurn: true };
    const { open, agent } = await start({ name: 'a', version: 1, model: scriptedModel(script), tools: [named] });
    const runtime = await open();
    await runtime.worker().start();
    const session = await runtime.sessions.open({ agent });
    await (await session.send('Go')).result();
    expect((await session.toolCalls({ tool: 'named' })).calls).toMatchObject([{ status: 'threw' }]);
    expect(await resultsOf(session)).toContain('there is no secret github in this workspace');
    await runtime.vault.set('github', github);
    await (await session.send('Go')).result();
    expect(await resultsOf(session)).toContain(`it has ${github.length} characters: [secret github]`);
  });

  test("[RED8] cannot receive the master key or a provider's key", async () => {
    const greedy = defineTool({
      name: 'named',
      input: z.object({}),
      secrets: ['PERDURE_MASTER_KEY'],
      execute: (_, { secrets }) => Object.keys(secrets),
    });
    const script = { name: 'caller', steps: [{ calls }, { text: 'done' }] };
    const { open, agent } = await start({ name: 'a', version: 1, model: scriptedModel(script), tools: [greedy] });
    const runtime = await open();
    await runtime.vault.set('github', github);
    await runtime.worker().start();
    const session = await runtime.sessions.open({ agent });
    await (await session.send('Go')).result();
    expect((await session.toolCalls({ tool: 'named' })).calls).toMatchObject([{ status: 'threw' }]);
  });
});

describe('model requests', () => {
  test('[RED7] hold no secret that became known during the run, and from then on neither does the log', async () => {
    const found: { runtime?: Runtime } = {};
    const find = defineTool({
      name: 'find',
      input: z.object({ again: z.boolean() }),
      effects: 'none',
      usesFiles: false,
      execute: async ({ again }) => {
        if (again) await found.runtime!.vault.set('plain', plain);
        return `found ${plain}`;
      },
    });
    const { model, asked } = watched({
      name: 'finder',
      steps: [
        { calls: [{ tool: 'find', input: { again: false } }] },
        { calls: [{ tool: 'find', input: { again: true } }] },
        { text: 'done' },
      ],
    });
    const { open, agent } = await start({ name: 'a', version: 1, model, tools: [find] });
    const runtime = await open();
    found.runtime = runtime;
    await runtime.worker().start();
    const session = await runtime.sessions.open({ agent });
    await (await session.send('Go')).result();
    expect(JSON.stringify(asked[1])).toContain(plain);
    expect(JSON.stringify(asked[2])).not.toContain(plain);
    expect(JSON.stringify(asked[2])).toMatch(/found \[secret plain\].*found \[secret plain\]/);
    const outputs = (await Array.fromAsync(session.events())).flatMap((event) =>
      event.type === 'tool.completed' ? [event.payload.output] : [],
    );
    expect(outputs).toEqual([`found ${plain}`, 'found [secret plain]']);
  });

  test('[RED7] are the same in whichever process continues the run: each extends the previous one', async () => {
    const wait = defineTool({
      name: 'wait',
      input: z.object({}),
      effects: 'none',
      usesFiles: false,
      question: () => ({ text: `what about ${plain}?` }),
      execute: () => undefined,
    });
    const { model, asked } = watched({
      name: 'waiter',
      steps: [{ text: `I heard ${github}`, calls: [{ tool: 'wait', input: {} }] }, { text: 'done' }],
    });
    const { open, agent } = await start({ name: 'a', version: 1, model, tools: [wait] });
    const first = await open();
    await first.vault.set('plain', plain);
    await first.vault.set('github', github);
    await first.worker().start();
    const session = await first.sessions.open({ agent });
    await (await session.send(`Keep ${plain}`)).result();
    await first.close();
    const second = await open();
    const same = await second.sessions.get(session.id);
    const [question] = (await Array.fromAsync(same.events())).filter(({ type }) => type === 'question.asked');
    await same.answer((question!.payload as { callId: string }).callId, `only ${github}`);
    await second.worker().runUntilIdle();
    const [before, after] = asked;
    expect(after!.instructions).toBe(before!.instructions);
    expect(after!.messages.slice(0, before!.messages.length)).toEqual(before!.messages);
    expect(JSON.stringify(after!.messages)).toMatch(
      /Keep \[secret plain\].*I heard \[secret github\].*only \[secret github\]/,
    );
  });
});
