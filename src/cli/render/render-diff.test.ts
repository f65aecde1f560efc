import { expect, test } from 'vitest';
import type { SessionDiff } from '../../core/state/diff.ts';
import type { Actor, MessageId, SessionId } from '../../schema/ids.ts';
import { displayWidth } from '../terminal/display-width.ts';
import type { Style, Terminal } from '../terminal/terminal.ts';
import { renderDiff } from './render-diff.ts';

const a = 'ses_01jd3v8m9k5x7q2w4e6r8t0y1a' as SessionId;
const b = 'ses_01jd3v8m9k5x7q2w4e6r8t0y1b' as SessionId;

const terminal = (columns: number, style: Terminal['style'] = (_, text) => text): Terminal => ({
  isTerminal: Number.isFinite(columns),
  columns,
  write: async () => {},
  style,
});

const nothingUsed = {
  requests: 0,
  inputTokens: 0,
  outputTokens: 0,
  tokens: 0,
  costUsd: 0,
  unpriced: 0,
  durationMs: 0,
};

const diffOf = (changes: Partial<SessionDiff>): SessionDiff => ({
  common: 3,
  same: false,
  headline: 'it differs',
  messages: [],
  calls: [],
  committed: [],
  files: [],
  counts: { messages: 0, calls: { same: 0, changed: 0, 'only-before': 0, 'only-after': 0 }, commits: 0, files: 0 },
  models: { before: [], after: [], settings: [] },
  usage: { before: nothingUsed, after: nothingUsed, difference: nothingUsed },
  outcome: {},
  unread: { before: 0, after: 0 },
  from: { session: a, seq: 3 },
  to: { session: a, seq: 9 },
  toolsUsed: [],
  filesModified: [],
  decisions: [],
  pendingActions: [],
  plan: [],
  progress: [],
  facts: [],
  pins: [],
  scratch: [],
  own: [],
  patch: [],
  commits: {},
  ...changes,
});

test('[DIFF1] a diff without changes says so', () => {
  expect(renderDiff(diffOf({ same: true, headline: 'no difference' }), terminal(80))).toEqual([
    'no difference',
    `${a} from seq:3 to seq:9`,
  ]);
});

test('[DIFF1] a changed detail of an entry is shown too', () => {
  const settled = { what: 'pay', status: 'settled' } as const;
  const lines = renderDiff(
    diffOf({
      pendingActions: [
        { id: 'pay', before: { ...settled, outcome: 'paid' }, after: { ...settled, outcome: 'refused' } },
      ],
      filesModified: [
        { id: 'a.ts', before: { change: 'renamed', from: 'b.ts' }, after: { change: 'renamed', from: 'c.ts' } },
        { id: 'd.ts', before: { change: 'modified', tool: 'edit' }, after: { change: 'modified', tool: 'shell' } },
        { id: 'e.ts', before: { change: 'renamed', from: 'f.ts', tool: 'mv' }, after: { change: 'modified' } },
        {
          id: 'g.ts',
          before: { change: 'modified', tool: 'edit', callId: 'c1' },
          after: { change: 'modified', tool: 'edit', callId: 'c2' },
        },
        { id: 'h.ts', before: { change: 'modified', after: 3 }, after: { change: 'modified', after: 5 } },
        {
          id: 'src/',
          before: { change: 'created', tool: 'shell', files: 1200 },
          after: { change: 'created', tool: 'shell', files: 1300 },
        },
      ],
      toolsUsed: [{ id: 'edit', before: { calls: 2, ok: 1, failed: 0 }, after: { calls: 2, ok: 2, failed: 0 } }],
    }),
    terminal(80),
  );
  expect(lines.slice(2)).toEqual([
    'pending actions',
    '  ~ pay: pay (settled: paid → refused)',
    'files',
    '  ~ a.ts renamed from b.ts → c.ts',
    '  ~ d.ts modified by edit → shell',
    '  ~ e.ts renamed → modified from f.ts → none by mv → none',
    '  ~ g.ts modified by edit in c1 → c2',
    '  ~ h.ts modified after event 3 → 5',
    '  ~ src/ created by shell, files: 1200 → 1300',
    'tools',
    '  ~ edit: 2 calls, 0 failed, 1 → 2 ok',
  ]);
});

test('[DIFF1] every kind of change is shown in the terms of its collection', () => {
  const lines = renderDiff(
    diffOf({
      decisions: [
        { id: 'db', after: { what: 'SQLite', why: 'one file' } },
        { id: 'lang', before: { what: 'Go', why: 'fast' } },
        { id: 'os', before: { what: 'Linux', why: 'habit' }, after: { what: 'Linux', why: 'servers' } },
      ],
      facts: [
        { id: 'port', before: 8080, after: '8080' },
        { id: 'host', after: { name: 'x' } },
      ],
      pins: [{ id: 'port', after: true }],
      plan: [
        {
          id: 'p1',
          before: { step: 'Write', status: 'todo', order: 1 },
          after: { step: 'Write', status: 'done', order: 2 },
        },
      ],
      pendingActions: [
        { id: 'mail', after: { what: 'send', status: 'open' } },
        {
          id: 'pay',
          before: { what: 'pay', status: 'open' },
          after: { what: 'pay', status: 'settled', outcome: 'paid' },
        },
      ],
      filesModified: [
        { id: 'a.ts', after: { change: 'created', tool: 'edit' } },
        { id: 'b.ts', before: { change: 'created' }, after: { change: 'modified', tool: 'edit' } },
        { id: 'c.ts', after: { change: 'renamed', from: 'd.ts' } },
        { id: 'lib/', after: { change: 'created', tool: 'shell', files: 1200 } },
      ],
      progress: [{ id: 'n', after: { note: 'half' } }],
      toolsUsed: [{ id: 'edit', before: { calls: 1, ok: 1, failed: 0 }, after: { calls: 3, ok: 2, failed: 1 } }],
      scratch: [{ id: 's', before: null }],
      own: [{ id: 'cart', before: [1], after: [1, 2] }],
    }),
    terminal(80),
  );
  expect(lines).toEqual([
    'it differs',
    `${a} from seq:3 to seq:9`,
    'decisions',
    '  + db: SQLite',
    '    why: one file',
    '  - lang: Go',
    '    why: fast',
    '  ~ os: Linux',
    '    why: habit → servers',
    'facts',
    '  ~ port: 8080 → "8080"',
    '  + host: {"name":"x"}',
    'pinned facts',
    '  + port',
    'plan',
    '  ~ p1: Write (todo → done, place 1 → 2)',
    'pending actions',
    '  + mail: send (open)',
    '  ~ pay: pay (open → settled: paid)',
    'files',
    '  + a.ts created by edit',
    '  ~ b.ts created → modified by edit',
    '  + c.ts renamed from d.ts',
    '  + lib/ created by shell, 1200 files',
    'progress',
    '  + n: half',
    'tools',
    '  ~ edit: 1 → 3 calls, 0 → 1 failed',
    'scratch',
    '  - s: null',
    'own part',
    '  ~ cart: [1] → [1,2]',
  ]);
});

test.each(['x', '漢', '😀', '"'])(
  '[DIFF1] two long values of %s that differ late are shown around the difference',
  (filler) => {
    for (let length = 180; length < 700; length += 37) {
      const same = filler.repeat(length);
      const [, , , line] = renderDiff(
        diffOf({ facts: [{ id: 'f', before: `${same}OLD`, after: `${same}NEW and more` }] }),
        terminal(Number.POSITIVE_INFINITY),
      );
      expect(line).toMatch(/^ {2}~ f: .*OLD" → .*NEW and more"$/u);
      expect(line!.isWellFormed()).toBe(true);
    }
  },
);

test('[DIFF1] two values that fit the limit are shown whole', () => {
  const same = 'x'.repeat(400);
  const lines = renderDiff(
    diffOf({ facts: [{ id: 'f', before: `${same}OLD`, after: `${same}NEW` }] }),
    terminal(Number.POSITIVE_INFINITY),
  );
  expect(lines).toContain(`  ~ f: "${same}OLD" → "${same}NEW"`);
});

test('[CLI1] long and hostile text stays text within the width, with further lines indented', () => {
  const hostile = 'x\u001b[2J\u009b31m\u202e\r\ny';
  const long = 'word '.repeat(50).trim();
  const lines = renderDiff(
    diffOf({
      to: { session: b, seq: 9 },
      decisions: [{ id: hostile, after: { what: `${hostile} ${long}`, why: long } }],
      facts: [{ id: hostile, before: hostile, after: { [hostile]: '漢字'.repeat(400) } }],
      plan: [{ id: hostile, after: { step: hostile, status: 'todo', order: 1 } }],
    }),
    terminal(80),
  );
  for (const line of lines) {
    expect(displayWidth(line), line).toBeLessThanOrEqual(80);
    expect(line).not.toMatch(/[\p{Cc}\u202e]/u);
  }
  expect(lines.slice(1, 3).join(' ')).toBe(`from ${a}@seq:3 to ${b}@seq:9`);
  expect(lines.join('\n')).toMatch(/word\n {4}word/);
  expect(lines.join('\n')).toMatch(/ {4}why: word[^\n]*\n {9}word/);
});

test('[CLI1] the signs of added, removed and changed entries have different colours', () => {
  const used = new Map<string, Style>();
  const out = terminal(80, (style, text) => {
    used.set(text, style);
    return text;
  });
  const facts = [
    { id: 'a', after: 1 },
    { id: 'b', before: 1 },
    { id: 'c', before: 1, after: 2 },
  ];
  renderDiff(diffOf({ facts }), out);
  expect([used.get('+'), used.get('-'), used.get('~')]).toEqual(['green', 'red', 'yellow']);
});

test('[DIFF2] the author of an entry is shown below it, with the reason unless the entry already contains it', () => {
  const commit = { session: a, seq: 5, turn: 2, at: 1, actor: 'member:ann' as Actor };
  const byTool = { ...commit, turn: 3, cause: { tool: 'decide', callId: 'c1' }, why: 'it is shorter' };
  const lines = renderDiff(
    diffOf({
      decisions: [{ id: 'way', after: { what: 'left', why: 'it is shorter' } }],
      facts: [
        { id: 'a', before: 1, after: 2 },
        { id: 'b', before: 1 },
        { id: 'c', before: 1 },
      ],
      commits: {
        '/decisions/way': { after: byTool },
        '/facts/a': { before: { ...commit, why: 'a guess' }, after: byTool },
        '/facts/b': { before: commit, after: { ...commit, why: 'not needed\u001b[2J' } },
        '/facts/c': { before: commit },
      },
    }),
    terminal(80),
  );
  expect(lines.slice(2)).toEqual([
    'decisions',
    '  + way: left',
    '    why: it is shorter',
    '    by tool:decide, turn 3',
    'facts',
    '  ~ a: 1 → 2',
    '    was by member:ann, turn 2: a guess',
    '    now by tool:decide, turn 3: it is shorter',
    '  - b: 1',
    '    by member:ann, turn 2: not needed\\x1b[2J',
    '  - c: 1',
    '    was by member:ann, turn 2',
  ]);
});

test('[DIFF5, DIFF6, DIFF8, DIFF9, DIFF12] the first lines quote what differs, then answers, calls, files and figures follow', () => {
  const happened = { session: a, seq: 5, turn: 2 };
  const said = { message: 'msg_01jd3v8m9k5x7q2w4e6r8t0y1a' as MessageId, seq: 5, text: 'The port is taken.' };
  const commit = { ...happened, at: 1, actor: 'agent:coder' as Actor, entries: ['/filesModified/a.ts'], said };
  const call = { ...happened, callId: 'c1', tool: 'edit', outcome: 'ok', input: '{"path":"a.ts"}', said } as const;
  const used = { ...nothingUsed, requests: 2, tokens: 1200, costUsd: 0.01, durationMs: 2500 };
  const lines = renderDiff(
    diffOf({
      headline: 'a.ts modified ("The port is taken."); +1 call',
      answer: {
        before: { ...happened, message: said.message, text: 'Port 8080.' },
        after: { ...happened, message: said.message, text: 'Port 9090.' },
        words: [
          { text: 'Port ', change: 'same' },
          { text: '8080', change: 'removed' },
          { text: '9090', change: 'added' },
          { text: '.', change: 'same' },
        ],
      },
      messages: [
        {
          match: 'only-after',
          after: { ...happened, id: 'msg_01jd3v8m9k5x7q2w4e6r8t0y1b' as MessageId, role: 'user', text: 'Sure?' },
        },
      ],
      calls: [
        { match: 'same', before: call, after: call },
        { match: 'changed', before: { ...call, outcome: 'threw', error: 'no such file' }, after: call },
        { match: 'only-after', after: { ...call, input: '{}' } },
      ],
      files: [{ path: 'a.ts', change: 'modified', after: commit, unified: '@@ -1 +1 @@\n-8080\n+9090\n' }],
      filesModified: [{ id: 'a.ts', after: { change: 'modified', tool: 'edit' } }],
      toolsUsed: [{ id: 'edit', after: { calls: 1, ok: 1, failed: 0 } }],
      models: {
        before: [{ model: 'x/one', settings: {}, requests: 1 }],
        after: [{ model: 'x/two', settings: {}, requests: 2 }],
        settings: [{ name: 'temperature', before: 0, after: 1 }],
      },
      usage: { before: { ...used, tokens: 900 }, after: used, difference: nothingUsed },
      outcome: { before: { status: 'failed', reason: 'X' }, after: { status: 'succeeded' } },
      unread: { before: 0, after: 7 },
    }),
    terminal(80),
  );
  expect(lines).toEqual([
    'a.ts modified ("The port is taken."); +1 call',
    `${a} from seq:3 to seq:9`,
    'answer',
    '  ~ Port [-8080-]{+9090+}.',
    'messages',
    '  + user: Sure?',
    'calls',
    '  = edit {"path":"a.ts"}: ok',
    '  ~ edit {"path":"a.ts"}: threw: no such file → ok',
    '    "The port is taken."',
    '  + edit {}: ok',
    'files',
    '  ~ a.ts modified by agent:coder',
    '    "The port is taken."',
    '@@ -1 +1 @@',
    '-8080',
    '+9090',
    'used',
    '  model x/one → x/two',
    '  temperature 0 → 1',
    '  requests 2, tokens 900 → 1,200, USD 0.01, time 2.5 s',
    '  outcome failed (X) → succeeded',
    'left out',
    '  events not compared, too many or damaged: 0 before, 7 after',
  ]);
});

test('[DIFF5] answers with little in common are shown one after the other', () => {
  const about = { session: a, seq: 5, turn: 2, message: 'msg_01jd3v8m9k5x7q2w4e6r8t0y1a' as MessageId };
  const lines = renderDiff(
    diffOf({
      headline: 'answer',
      answer: {
        before: { ...about, text: 'It is released.' },
        after: { ...about, text: 'Counts live in a file.' },
        words: [
          { text: 'It is released', change: 'removed' },
          { text: 'Counts live in a file', change: 'added' },
          { text: '.', change: 'same' },
        ],
      },
    }),
    terminal(80),
  );
  expect(lines).toContain('  ~ It is released. → Counts live in a file.');
});
