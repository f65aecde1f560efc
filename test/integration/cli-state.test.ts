import { expect, test } from 'vitest';
import type { Session, Sessions } from '../../src/index.ts';
import { memoryCommandLine } from '../support/cli/command-line.ts';

/** Makes two turns: facts, a decision and two tool calls in the first, changes to them in the second. */
const makeSession = async (sessions: Sessions): Promise<string> => {
  const session = await sessions.open({ title: 'State' });
  await session.append({ role: 'user', content: 'Begin.' });
  const tools = await session.track(
    {
      edit: async ({ path }: { path: string }) => `wrote ${path}`,
      test: async () => Promise.reject(new Error('none found')),
    },
    { edit: { files: ({ path }) => ({ [path]: 'created' }) } },
  );
  await tools.edit({ path: 'src/auth.ts' });
  await tools.test().catch(() => undefined);
  await session.commit((draft) => {
    draft.facts.port = 8080;
    draft.decisions.db = { what: 'SQLite', why: 'one file' };
    draft.plan.first = { step: 'Write it', status: 'todo', order: 1 };
  });
  await session.append({ role: 'assistant', content: 'Begun.' });
  await session.append({ role: 'user', content: 'Go on.' });
  await session.commit(
    (draft) => {
      draft.facts.port = 9090;
      delete draft.decisions.db;
      draft.plan.first!.status = 'done';
    },
    { why: 'it moved' },
  );
  await session.append({ role: 'assistant', content: 'Gone on.' });
  return session.id;
};

/**
 * Starts a command line and the library on one store. The answers of the library are converted to plain JSON for
 * comparison.
 */
const start = async () => {
  const { call, inLibrary: work, ...answers } = memoryCommandLine();
  const id = await work(makeSession);
  const inLibrary = async <T>(ask: (sessions: Sessions) => Promise<T>): Promise<T> =>
    JSON.parse(JSON.stringify((await work(ask)) ?? null));
  return {
    ...answers,
    id,
    inLibrary,
    asked: <T>(ask: (session: Session) => Promise<T>) => inLibrary(async (sessions) => ask(await sessions.get(id))),
    refused: async (args: readonly string[]) => {
      const { code, out, err } = await call([...args, '--json']);
      expect(out).toBe('');
      return { exit: code, ...(JSON.parse(err).error as { code: string; message: string }) };
    },
  };
};

test('[CLI1, STATE3] state shows the state or a part of it, now or at a point', async () => {
  const { id, said, answered, refused, asked } = await start();
  expect(await said(['state', id])).toBe(
    [
      'facts',
      '  port: 9090',
      'plan',
      '  first: Write it (done)',
      'files',
      '  src/auth.ts created by edit',
      'tools',
      '  edit: 1 call',
      '  test: 1 call, 1 failed',
      '',
    ].join('\n'),
  );
  expect(await answered(['state', id, '--at', '1'])).toEqual(
    await asked((session) => session.state({ at: { turn: 1 } })),
  );
  expect(await said(['state', id, '--at', '1', '--path', '/decisions'])).toBe(
    'decisions\n  db: SQLite\n    why: one file\n',
  );
  expect(await answered(['state', id, '--path', '/facts/port'])).toBe(9090);
  expect(await refused(['state', id, '--path', '/facts/host'])).toMatchObject({ exit: 5, code: 'POINT_NOT_FOUND' });
});

test('[CLI1, STATE1, REV1] commit changes the state, revert undoes the change, and both say what changed', async () => {
  const { id, said, answered, refused, asked } = await start();
  expect(await said(['commit', id, '--fact', 'host=local host', '--fact', 'port=1', '--why', 'told so'])).toMatch(
    /^committed event \d+, turn 2: \+\/facts\/host ~\/facts\/port: told so\n$/,
  );
  const patch = JSON.stringify([{ op: 'add', path: '/facts/list', value: [1, { a: null }] }]);
  const commit = await answered(['commit', id, '--patch', '-', '--provenance', 'unverified'], { stdin: patch });
  expect(commit).toEqual((await asked((session) => session.commits())).commits[0]);
  expect(commit).toMatchObject({ provenance: 'unverified', entries: ['/facts/list'] });
  expect(await answered(['commit', id, '--fact', 'port=1'])).toBeNull();
  expect(await asked(async (session) => (await session.state()).facts)).toEqual({
    port: 1,
    host: 'local host',
    list: [1, { a: null }],
  });
  expect(await said(['revert', id, String(commit.seq), '--why', 'not needed'])).toBe(
    `reverted commit ${commit.seq} with event ${commit.seq + 1}: -/facts/list\n`,
  );
  const [moved] = (await asked((session) => session.commits())).commits.filter(({ why }) => why === 'it moved');
  expect(await refused(['revert', id, `seq:${moved!.seq}`])).toMatchObject({ exit: 6, code: 'REVERT_CONFLICT' });
  const adopted = await asked(async (session) => {
    const branch = await session.fork();
    await branch.files.write('a.txt', 'theirs');
    return (await session.adopt(branch)).commit!.seq;
  });
  expect(await said(['revert', id, String(adopted)])).toBe(
    `reverted commit ${adopted} with event ${adopted + 2}: -/filesModified/a.txt\n  deleted a.txt\n`,
  );
  const invalid = ['commit', id, '--patch', '[{"op":"add","path":"/plan/x","value":1}]'];
  expect(await refused(invalid)).toMatchObject({ exit: 2, code: 'STATE_INVALID' });
});

test('[CLI1, QRY1] log finds commits of a session or the workspace, and still lists events', async () => {
  const { id, said, jsonLines, inLibrary, asked } = await start();
  const events = (await said(['log', id])).split('\n');
  expect(events[0]).toMatch(/^ {4}1 .* session\.opened/);
  const lines = (await said(['log', id, '--commits'])).split('\n');
  expect(lines).toEqual([
    expect.stringMatching(/^SEQ +TIME +TURN +BY +PROVENANCE +CHANGED$/),
    expect.stringMatching(
      /^ *\d+ {2}[\dT:.-]+Z +2 {2}member:local +human +~\/plan\/first -\/decisions\/db ~\/facts\/port: it moved$/,
    ),
    expect.stringMatching(/ 1 {2}member:local +human +\+\/plan\/first \+\/decisions\/db \+\/facts\/port$/),
    expect.stringMatching(/ 1 {2}tool:test +\+\/toolsUsed\/test: threw: none found$/),
    expect.stringMatching(
      / 1 {2}tool:edit +\+\/filesModified\/src~1auth\.ts \+\/toolsUsed\/edit: wrote src\/auth\.ts$/,
    ),
    '',
  ]);
  expect(await jsonLines(['log', id, '--turns', '1-1', '--actor', 'member:local', '--provenance', 'human'])).toEqual(
    (await asked((session) => session.commits({ turns: { from: 1, to: 1 }, provenance: 'human' }))).commits,
  );
  expect(await jsonLines(['log', id, '--last', '1', '--path', '/facts/**', '--limit', '5'])).toHaveLength(1);
  const everywhere = ['log', '--all', '--file', 'src/auth.ts', '--since', '7d'];
  expect(await said(everywhere)).toMatch(new RegExp(`^SESSION .*\\n${id} .* tool:edit .*\\n$`));
  const { commits } = await inLibrary((sessions) => sessions.commits({ path: '/filesModified/src~1auth.ts' }));
  expect(await jsonLines([...everywhere, '--tool', 'edit'])).toEqual(commits);
  expect(await said([...everywhere, '--until', '7d'])).toBe('no commits match\n');
});

test('[CLI1, QRY3] calls lists tool calls of a session or the workspace', async () => {
  const { id, said, answered, jsonLines, inLibrary, asked } = await start();
  expect((await said(['calls', id])).split('\n')).toEqual([
    expect.stringMatching(/^SEQ +TURN +TIME +STATUS +TOOK +TOOL +CALL$/),
    expect.stringMatching(/^ *\d+ +1 {2}[\dT:.-]+Z {2}threw +\d+ ms {2}test {2}call_\w+$/),
    expect.stringMatching(/ ok +\d+ ms {2}edit {2}call_\w+$/),
    '',
  ]);
  const threw = (await answered(['calls', '--status', 'threw', '--since', '1h'])).calls;
  expect(threw).toEqual((await inLibrary((sessions) => sessions.toolCalls({ status: 'threw' }))).calls);
  expect(threw).toMatchObject([{ session: id, tool: 'test' }]);
  expect(await said(['calls', id, '--tool', 'edit', '--last', '1'])).toBe('no tool calls match\n');
  expect((await answered(['calls', id, '--turns', '1-1'])).calls).toHaveLength(2);
  expect((await answered(['calls', '--until', '1h'])).calls).toEqual([]);
  expect((await answered(['calls', '--actor', 'member:local'])).calls).toHaveLength(2);
  expect((await answered(['calls', id, '--actor', 'agent:coder'])).calls).toEqual([]);
  await asked((session) => session.rewind({ to: { turn: 0 } }));
  expect((await answered(['calls', id])).calls).toEqual([]);
  expect((await answered(['calls'])).calls).toEqual([]);
  expect((await answered(['calls', id, '--include-rewound'])).calls).toHaveLength(2);
  expect((await answered(['calls', '--include-rewound'])).calls).toHaveLength(2);
  expect(await jsonLines(['log', '--all', '--include-rewound', '--file', 'src/auth.ts'])).toHaveLength(1);
  expect(await said(['log', '--all', '--file', 'src/auth.ts'])).toBe('no commits match\n');
});

test('[CLI1, DIFF1, DIFF2, DIFF8] diff shows changes between turns, attempts and branches, with author and reason', async () => {
  const { id, said, answered, jsonLines, refused, asked } = await start();
  const lines = (await said(['diff', id, '1', 'turn:2'])).split('\n');
  expect(lines[0]).toBe(
    'decision db dropped; fact port: 8080 → 9090 ("it moved"); step first: todo → done ("it moved"); answer: "Gone on."',
  );
  expect(lines[1]).toMatch(/^ses_\w+ from seq:\d+ to seq:\d+$/);
  expect(lines.slice(2)).toEqual([
    'answer',
    '  + Gone on.',
    'messages',
    '  + user: Go on.',
    'decisions',
    '  - db: SQLite',
    '    why: one file',
    '    by member:local, turn 2: it moved',
    'facts',
    '  ~ port: 8080 → 9090',
    '    was by member:local, turn 1',
    '    now by member:local, turn 2: it moved',
    'plan',
    '  ~ first: Write it (todo → done)',
    '    was by member:local, turn 1',
    '    now by member:local, turn 2: it moved',
    '',
  ]);
  expect(await answered(['diff', id, 'turn:1', '2'])).toEqual(
    await asked((session) => session.diff({ turn: 1 }, { turn: 2 })),
  );
  expect(await said(['diff', id, '2', '2'])).toMatch(/^no difference\n/);
  expect(await said(['retry', id, 'turn:2'])).toMatch(
    /^turn 2 is tried again as turn 3\nto compare .*: perdure diff ses_\w+ 'turn:2#1' 'turn:2#2'.*\n$/,
  );
  expect(await said(['diff', id, '2#1', '2#2'])).toMatch(/\n {2}\+ db: SQLite\n.*\n {2}~ port: 9090 → 8080\n/s);
  const first = await answered(['diff', id, '0', '2#2', '--limit', '1', '--content']);
  expect(first).toMatchObject({ messages: [expect.anything()], cursor: expect.any(String) });
  expect(await answered(['diff', id, '0', '2#2', '--limit', '1', '--cursor', first.cursor])).not.toMatchObject({
    messages: first.messages,
  });
  expect(await jsonLines(['log', id, '--include-rewound'])).toHaveLength(4);
  const branch = await asked(async (session) => {
    const fork = await session.fork({ at: { turn: 1 } });
    await fork.commit((draft) => void Object.assign(draft.facts, { host: 'here' }));
    return fork.id;
  });
  const across = await said(['diff', id, '1', branch]);
  expect(across).toMatch(
    new RegExp(
      `^fact host: here\\nfrom ${id}@seq:\\d+ to ${branch}@seq:\\d+\\nfacts\\n {2}\\+ host: "here"\\n {4}by member:local, turn 1\\n$`,
    ),
  );
  expect(await refused(['diff', id, '1', '2#3'])).toMatchObject({ exit: 5, code: 'POINT_NOT_FOUND' });
});

test("[CLI1, ADO1] adopt takes over a branch's changes and names those that conflict", async () => {
  const { id, said, answered, refused, asked } = await start();
  const branch = await asked(async (session) => {
    const fork = await session.fork({ at: { turn: 1 } });
    await fork.commit((draft) => void Object.assign(draft.facts, { port: 7, host: 'here' }));
    return fork.id;
  });
  const failed = await refused(['adopt', id, branch, '--on-conflict', 'fail']);
  expect(failed).toMatchObject({ exit: 6, code: 'ADOPT_CONFLICT' });
  expect((await said(['adopt', id, branch])).split('\n')).toEqual([
    expect.stringMatching(/^adopted with event \d+$/),
    '  + /facts/host',
    'changed on both sides',
    '  ! /facts/port: ours was kept',
    '    ours:   9090',
    '    theirs: 7',
    '',
  ]);
  const adoption = await answered(['adopt', id, branch, '--on-conflict', 'theirs', '--why', 'better']);
  expect(adoption).toMatchObject({ adopted: ['/facts/port'], conflicts: [{ path: '/facts/port', theirs: 7 }] });
  expect(adoption.commit).toEqual((await asked((session) => session.commits())).commits[0]);
});

test('[CLI1, CTX5, CTX6, EVICT4] compact, recall and pin work on the context', async () => {
  const { id, said, answered, refused } = await start();
  const compacted = await said(['compact', id, '--keep', '1']);
  expect(compacted).toMatch(
    /^a summary stands for seq:\d+ to seq:\d+\nTurn 1: .*\ncan be recalled by key\n {2}.*turn:1/s,
  );
  expect(await answered(['compact', id, '--keep', '1'])).toBeNull();
  expect(await said(['recall', id, 'turn:1'])).toMatch(/── turn 1 .*\nuser\n {2}Begin\.\nassistant\n {2}Begun\.\n$/s);
  expect(await said(['recall', id, 'turn 1'])).toMatch(/user\n {2}Begin\./);
  expect(await said(['context', id])).toMatch(
    /\nleft out; can be recalled by key\n {2}turn:1\n {2}edit:src\/auth\.ts@turn:1\n {2}test@turn:1\n$/,
  );
  expect((await answered(['context', id])).evicted).toMatchObject([
    { key: 'turn:1', name: 'turn 1' },
    { key: 'edit:src/auth.ts@turn:1', name: 'edit with src/auth.ts in turn 1' },
    { key: 'test@turn:1' },
  ]);
  expect(await answered(['recall', id, 'edit:src/auth.ts@turn:1'])).toMatchObject([{ tool: 'edit', turn: 1 }]);
  expect(await answered(['recall', id, 'fact:port'])).toBe(9090);
  expect(await refused(['recall', id, 'turn:9'])).toMatchObject({ exit: 5, code: 'POINT_NOT_FOUND' });
  expect(await said(['pin', id, 'port'])).toBe('port is pinned\n');
  expect(await answered(['pin', id, 'port', '--unpin'])).toEqual({});
  expect(await refused(['pin', id, 'host'])).toMatchObject({ exit: 2, code: 'STATE_INVALID' });
});

test('[CLI1, QRY4] repair rebuilds the projections and says from how many events', async () => {
  const { said, answered, inLibrary, asked } = await start();
  const { seq } = await asked((session) => session.summary());
  const before = await inLibrary((sessions) => Promise.all([sessions.commits(), sessions.toolCalls()]));
  expect(await said(['repair', '--projections'])).toBe(`projections rebuilt from ${seq} events\n`);
  expect(await answered(['repair', '--projections'])).toEqual({ events: seq });
  expect(await inLibrary((sessions) => Promise.all([sessions.commits(), sessions.toolCalls()]))).toEqual(before);
});
