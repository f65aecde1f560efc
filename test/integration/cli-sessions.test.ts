import { expect, test } from 'vitest';
import { makeSquares, memoryCommandLine } from '../support/cli/command-line.ts';

const missing = 'ses_01jd3v8m9k5x7q2w4e6r8t0y1a';

const start = () => {
  const line = memoryCommandLine();
  const eventsOf = (id: string) =>
    line.inLibrary(async (sessions) => Array.fromAsync((await sessions.get(id)).events()));
  return { ...line, eventsOf };
};

test('[LOOP6, CLI1] calls that are appended with their results are listed, counted and compared on the command line', async () => {
  const { answered } = start();
  const { id } = await answered(['open']);
  const call = { callId: 'c1', tool: 'write' };
  const lines = [
    { role: 'user', content: 'go' },
    { role: 'assistant', content: [{ type: 'tool-call', ...call, input: { path: 'a.ts' } }] },
    { role: 'tool', content: [{ type: 'tool-result', ...call, outcome: 'ok', output: 'done' }] },
  ].map((message) => JSON.stringify(message));
  const files = JSON.stringify({ c1: { 'a.ts': 'modified' } });
  await answered(['append', id, '--jsonl', '--files', files], { stdin: `${lines.join('\n')}\n` });
  const json = (...argv: string[]) => answered(argv);
  expect((await json('calls', id)).calls).toMatchObject([{ callId: 'c1', tool: 'write', status: 'ok' }]);
  expect(await json('state', id)).toMatchObject({ filesModified: { 'a.ts': { change: 'modified', tool: 'write' } } });
  expect((await json('diff', id, 'seq:1', 'turn:1')).filesModified).toMatchObject([{ id: 'a.ts' }]);
});

test("[CLI1] JSON answers are the library's own objects", async () => {
  const { said, answered, inLibrary, eventsOf } = start();
  const opened = await answered(['open', '--title', 'Fix it']);
  const { id } = opened;
  expect(opened).toMatchObject({ title: 'Fix it', status: 'open', seq: 1 });
  const lines = ['{"role":"user","content":"a"}', '', '{"role":"assistant","content":[{"type":"text","text":"b"}]}'];
  const appended = await answered(['append', id, '--jsonl'], { stdin: `${lines.join('\n')}\n` });
  const [list, shown, log, tree, verified] = await Promise.all([
    answered(['ls', '--limit', '1']),
    answered(['show', id]),
    said(['log', id, '--json']),
    answered(['tree', id]),
    answered(['verify', id]),
  ]);
  const events = await eventsOf(id);
  expect(appended).toEqual({ events: events.slice(1) });
  expect(
    log
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line)),
  ).toEqual(events);
  await inLibrary(async (sessions) => {
    const session = await sessions.get(id);
    const summary = await session.summary();
    expect(list).toEqual({ sessions: [summary] });
    expect(shown).toEqual({
      summary,
      waitingInputs: 0,
      usage: await session.usage(),
      transcript: (await session.transcript()).entries,
    });
    expect(tree).toEqual(await session.tree());
    expect(verified).toEqual({ sessions: [{ session: id, ...(await session.verify()) }] });
  });
});

test('[CLI1] a listing can be filtered, and its cursor returns the next page', async () => {
  const { call, said, answered, inLibrary } = start();
  const first = await inLibrary(makeSquares);
  const second = (await said(['open'])).trim();
  const page = await answered(['ls', '--limit', '1']);
  const [rest, all, none, more] = await Promise.all([
    answered(['ls', '--limit', '1', '--cursor', page.cursor]),
    answered(['ls', '--all', '--status', 'active']),
    said(['ls', '--status', 'archived']),
    call(['ls', '--limit', '1']),
  ]);
  expect([page, rest].map(({ sessions }) => sessions[0].id)).toEqual([second, first]);
  expect(all.sessions.map(({ id }: { id: string }) => id)).toEqual([first]);
  expect(none).toBe('no session is archived\n');
  expect(more).toMatchObject({ code: 0, err: 'there are more: `perdure ls --all` lists them, archived ones too\n' });
});

test('[CLI1, FORK1, REW1] fork, rewind and tree accept points', async () => {
  const { call, said, answered, inLibrary } = start();
  const id = await inLibrary(makeSquares);
  const child = (await said(['fork', id, '--at', 'turn:2', '--title', 'The other way'])).trim();
  const half = await call(['fork', child, '--at', 'seq:4']);
  expect(half.err).toContain(`perdure resume ${half.out.trim()}`);
  expect(await said(['rewind', id, '--to', '1', '--reason', 'wrong'])).toContain('goes on from turn 1, 2 messages');
  const tree = await said(['tree', child]);
  const [again, shown, log] = await Promise.all([
    answered(['fork', id]),
    answered(['show', id]),
    said(['log', id, '--at', 'turn:1', '--after', '1']),
  ]);
  expect(tree.split('\n')).toEqual([
    `○ ${id}  active  turn 1  Squares`,
    expect.stringMatching(/^├─[●○] .*⑂ seq:[45] {2}(active|paused) {2}turn 2 {2}.*/),
    expect.stringMatching(/^└─[●○] .*⑂ seq:[45] {2}(active|paused) {2}turn 2 {2}.*/),
    '',
  ]);
  expect(tree).toContain(`● ${child}  ⑂ seq:5  active  turn 2  The other way`);
  expect(again).toMatchObject({ parent: id, forkedAt: 8, status: 'active' });
  expect(shown.transcript).toHaveLength(2);
  expect(
    log
      .trimEnd()
      .split('\n')
      .map((line) => Number(line.slice(0, 5))),
  ).toEqual([2, 3, 4, 5, 6, 7, 8]);
  expect(await answered(['rewind', id, '--to', 'seq:7'])).toMatchObject({ messages: 6, turn: 3, seq: 9 });
});

test('[CLI1, LIFE1] lifecycle commands change the status, and those that the status does not allow change nothing', async () => {
  const { call, said, answered, inLibrary, eventsOf } = start();
  const id = await inLibrary(makeSquares);
  expect(await said(['pause', id, '--reason', 'lunch'])).toBe(`${id} is paused\n`);
  const refused = await Promise.all([call(['append', id, 'x']), call(['archive', id, '--json'])]);
  expect(refused[0]).toMatchObject({ code: 6, out: '' });
  expect(refused[0]?.err).toMatch(
    /^error ILLEGAL_TRANSITION: cannot append while .* paused: resume it first; allowed now: .*resume/,
  );
  expect(JSON.parse(refused[1]!.err).error).toMatchObject({
    code: 'ILLEGAL_TRANSITION',
    details: { status: 'paused', command: 'archive', allowed: expect.arrayContaining(['resume', 'close']) },
  });
  expect(await answered(['resume', id])).toMatchObject({ status: 'active' });
  for (const [command, status] of [
    ['close', 'closed'],
    ['archive', 'archived'],
    ['unarchive', 'closed'],
    ['reopen', 'active'],
  ] as const) {
    expect(await said([command, id])).toBe(`${id} is ${status}\n`);
  }
  const types = (await eventsOf(id)).slice(7).map(({ type }) => type.replace('session.', ''));
  expect(types).toEqual(['paused', 'resumed', 'closed', 'archived', 'restored', 'reopened']);
});

test('[CLI1, IN1, IN3, FAULT3] invalid input is rejected with its code, and nothing is written', async () => {
  const { call, said, inLibrary } = start();
  const id = await inLibrary(makeSquares);
  const jsonl = ['append', id, '--jsonl'];
  const orphan = '{"role":"tool","content":[{"type":"tool-result","callId":"c","tool":"t","outcome":"ok","output":1}]}';
  const cases: readonly (readonly [
    args: readonly string[],
    code: number,
    error: string,
    stdin?: string | Uint8Array,
  ])[] = [
    [['show', missing], 5, 'SESSION_NOT_FOUND'],
    [['verify', missing], 5, 'SESSION_NOT_FOUND'],
    [['show', 'run_01jd3v8m9k5x7q2w4e6r8t0y1a'], 2, 'INVALID_INPUT'],
    [['show', id, '--at', '9'], 5, 'POINT_NOT_FOUND'],
    [['rewind', id, '--to', 'seq:99'], 5, 'POINT_NOT_FOUND'],
    [['rewind', id, '--to', 'seq:0'], 2, 'INVALID_INPUT'],
    [['rewind', id], 2, 'INVALID_INPUT'],
    [['append', id, '-'], 2, 'INVALID_INPUT', 'a\u0000b'],
    [['append', id, '-'], 2, 'INVALID_INPUT', Uint8Array.of(0xff, 0xfe)],
    [jsonl, 2, 'INVALID_INPUT', '{"role":"user","content":"a"}\n{"role":'],
    [jsonl, 2, 'INVALID_INPUT', '{"role":"user","content":"a"}\n{"role":"user","content":"\\ud800"}'],
    [jsonl, 2, 'INVALID_INPUT', 'null'],
    [jsonl, 2, 'INVALID_INPUT', ''],
    [jsonl, 2, 'INVALID_INPUT', orphan],
    [['ls', '--cursor', 'x'], 2, 'INVALID_INPUT'],
    [['log', id, '--follow', '--at', '1'], 2, 'INVALID_INPUT'],
    [['verify'], 2, 'INVALID_INPUT'],
    [['append', id, ''], 2, 'INVALID_INPUT'],
    [['append', id, '-'], 2, 'INVALID_INPUT', '\n'],
  ];
  const before = await Promise.all([said(['ls', '--json']), said(['log', id, '--json'])]);
  const check = async ([args, code, error, stdin]: (typeof cases)[number]) => {
    const result = await call([...args, '--json'], stdin === undefined ? {} : { stdin });
    const reported = JSON.parse(result.err);
    expect({ args, code: result.code, error: reported.error.code }).toEqual({ args, code, error });
    expect(reported).toEqual({ error: { code: error, message: expect.any(String), details: expect.any(Object) } });
    expect(result.out).toBe('');
  };
  const waiting = [...cases];
  const worker = async () => {
    for (let next = waiting.pop(); next; next = waiting.pop()) await check(next);
  };
  await Promise.all([worker(), worker(), worker()]);
  expect(await Promise.all([said(['ls', '--json']), said(['log', id, '--json'])])).toEqual(before);
});

test('[CLI11] a rejection says what to do next, in terms of the command line', async () => {
  const { call, said, inLibrary } = start();
  const id = await inLibrary(makeSquares);
  await said(['close', id]);
  const cases: readonly (readonly [args: readonly string[], reported: string])[] = [
    [
      ['append', id, 'x'],
      'ILLEGAL_TRANSITION: cannot append while the session is closed: reopen it first; allowed now: change its title or metadata, reopen, archive, fork',
    ],
    [['append', id, ''], 'INVALID_INPUT: the text is empty: give some text to append'],
    [
      ['recall', id, 'fact:x'],
      'POINT_NOT_FOUND: there is nothing to recall under "fact:x": try facts, which returns all of them',
    ],
    [
      ['fork', id, '--at', 'seq:0'],
      'INVALID_INPUT: "seq:0" is not an event, since they count from 1: name seq:1, or turn:0 for the point before the first turn',
    ],
    [['verify'], 'INVALID_INPUT: verify needs either sessions, exported files or --all: see `perdure help verify`'],
    [['limit', id], 'INVALID_INPUT: limit needs --tokens, --usd, --turns or --active: see `perdure help limit`'],
  ];
  for (const [args, reported] of cases) expect((await call(args)).err).toBe(`error ${reported}\n`);
});

test('[CLI1] an exceeded limit is explained in words', async () => {
  const { said, inLibrary } = start();
  const id = await inLibrary(makeSquares);
  expect(await said(['limit', id, '--usd', '1'])).toBe(`${id} may use 1 USD in total\n`);
  expect(await said(['limit', id, '--tokens', '10', '--turns', '1', '--active', '2h'])).toBe(
    `${id} may use 10 tokens, 1 turn, 2h at work in total\n`,
  );
});

test('[CLI1, KEY2] a key that was used for another request is rejected', async () => {
  const { call, said, inLibrary } = start();
  const id = await inLibrary(makeSquares);
  await said(['append', id, 'one', '--key', 'k']);
  expect(await call(['append', id, 'two', '--key', 'k'])).toMatchObject({
    code: 6,
    err: expect.stringMatching(/^error KEY_REUSED: /),
  });
});
