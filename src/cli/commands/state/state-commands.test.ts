import { beforeEach, describe, expect, test } from 'vitest';
import { callCli } from '../../../../test/support/cli/call-cli.ts';
import { openRuntime } from '../../../runtime.ts';
import { type MemoryDatabase, newMemoryDatabase } from '../../../testing/memory-database.ts';
import { openMemoryStore } from '../../../testing/memory-store.ts';
import { commands } from '../../dispatch/registry.ts';
import { displayWidth } from '../../terminal/display-width.ts';

let database: MemoryDatabase;
beforeEach(() => {
  database = newMemoryDatabase();
});

const open = () => openRuntime({ store: openMemoryStore(database) });

/** Runs a call on a terminal of 80 columns. */
const cli = (argv: readonly string[], { mayOpen = true } = {}) =>
  callCli([...argv, '--store', 'memory'], {
    openRuntime: () => {
      if (!mayOpen) throw new Error('the store was opened');
      return open();
    },
  });

const expectToFit = (text: string): void => {
  for (const line of text.split('\n')) expect(displayWidth(line), line).toBeLessThanOrEqual(80);
};

const id = 'ses_01jd3v8m9k5x7q2w4e6r8t0y1a';

describe('wrong calls', () => {
  const calls: readonly (readonly [call: string, error: RegExp])[] = [
    ['state', /state needs SESSION/],
    ['state no-where', /names no session/],
    [`state ${id} --at x`, /is not a point/],
    [`state ${id} --path facts`, /JSON Pointer such as/],
    ['log', /log needs SESSION/],
    [`log ${id} --all`, /leave out SESSION/],
    [`log ${id} --commits --follow --since 1d`, /leave out --since/],
    [`log ${id} --tool edit --after 3`, /--after is for events/],
    [`log ${id} --since yesterday`, /--since is a date/],
    ['log --all --last 3', /about one session/],
    ['calls --last 3', /name it/],
    ['calls --turns 1-2', /name it/],
    [`calls ${id} --turns 2-1`, /--turns is a range/],
    ['calls --until yesterday', /--until is a date/],
    ['calls --run my-run', /"my-run" names no run: give its id/],
    ['calls --status fine', /--status is running, ok/],
    [`diff ${id} 1`, /diff needs TO/],
    [`diff ${id} 1 later`, /is not a point/],
    [`diff ${id} 1 2 3`, /diff has no place for/],
    [`commit ${id}`, /either --patch JSON or --fact/],
    [`commit ${id} --fact a=1 --patch []`, /either --patch JSON or --fact/],
    [`commit ${id} --fact port`, /--fact is KEY=VALUE/],
    [`commit ${id} --fact =1`, /--fact is KEY=VALUE/],
    [`commit ${id} --patch {`, /the patch is not JSON/],
    [`commit ${id} --fact a=1 --provenance sure`, /--provenance is unverified/],
    [`revert ${id} last`, /SEQ is a whole number/],
    [`adopt ${id} no-branch`, /names no session/],
    [`adopt ${id} ${id} --on-conflict both`, /--on-conflict is ours, theirs, fail/],
    [`compact ${id} --keep 0`, /--keep is a whole number/],
    [`retry ${id} 0`, /TURN is a whole number/],
    ['repair', /repair needs either a session or --projections/],
  ];
  test.each(calls)('[CLI1] %s is refused before the store is opened', async (call, error) => {
    const { code, out, err } = await cli(call.split(' '), { mayOpen: false });
    expect({ code, out }).toEqual({ code: 2, out: '' });
    expect(err.replaceAll('\n', ' ')).toMatch(error);
    expectToFit(err);
  });
});

describe('on a terminal of 80 columns', () => {
  const hostile = 'x\u001b[2J\u001b]0;owned\u0007\u009b31m\u202e\u007fy';
  const long = `${hostile} ${'word '.repeat(60).trim()}`;

  test('[CLI1] help fits', async () => {
    for (const { name } of commands) expectToFit((await cli(['help', name])).out);
  });

  const makeHostile = async () => {
    const runtime = await open();
    const session = await runtime.sessions.open();
    await session.append({ role: 'user', content: long });
    const tools = await session.track(
      { [hostile]: async () => long },
      { [hostile]: { files: () => ({ [long]: 'created' as const }) } },
    );
    await tools[hostile]!();
    await session.append({ role: 'user', content: 'More.' });
    const branch = await session.fork();
    for (const [each, number] of [
      [session, 1],
      [branch, 2],
    ] as const) {
      await each.commit(
        (draft) => {
          Object.assign(draft.facts, { [hostile]: [number, long], other: number });
          draft.decisions[hostile] = { what: long, why: long };
          draft.plan[hostile] = { step: long, status: 'doing', order: number };
          draft.pendingActions[hostile] = { what: long, status: 'open' };
          draft.progress[hostile] = { note: long };
          draft.scratch[hostile] = { [hostile]: long };
        },
        { why: long },
      );
    }
    const [call] = (await session.toolCalls()).calls;
    await runtime.close();
    return { session: session.id, branch: branch.id, call: call!.callId };
  };

  test('[CLI1] every answer about the state fits, and hostile text stays text', async () => {
    const { session, branch } = await makeHostile();
    const calls = [
      ['state', session],
      ['state', session, '--path', '/facts'],
      ['log', session, '--commits'],
      ['log', '--all', '--path', '/facts/**'],
      ['calls', session],
      ['calls'],
      ['diff', session, '1', '2'],
      ['diff', session, '2', branch],
      ['adopt', session, branch],
      ['pin', session, hostile],
      ['compact', session, '--keep', '1'],
      ['recall', session, 'turn:1'],
    ];
    for (const call of calls) {
      const { code, out, err, raw } = await cli(call);
      expect({ code, err }, call[0]).toEqual({ code: 0, err: '' });
      expectToFit(out);
      // biome-ignore lint/suspicious/noControlCharactersInRegex: only the two styles of the CLI are removed; no other control character may remain
      expect(raw.replaceAll(/\u001b\[(1|22)m|\n/g, ''), call[0]).not.toMatch(/[\p{Cc}\u202e]/u);
    }
  });

  test('[ADO1] a conflict of long values shows where they differ', async () => {
    const runtime = await open();
    const session = await runtime.sessions.open();
    const branch = await session.fork();
    const noted = (end: string) => `${'the same '.repeat(200)}${end}`;
    await session.commit((draft) => Object.assign(draft.facts, { note: noted('here') }));
    await branch.commit((draft) => Object.assign(draft.facts, { note: noted('there') }));
    await runtime.close();
    const { out } = await cli(['adopt', session.id, branch.id]);
    expect(out).toMatch(/ours: +"?…[^"]*here"/);
    expect(out).toMatch(/theirs: +"?…[^"]*there"/);
  });

  test('[CLI1] exact values in JSON contain no control characters either', async () => {
    const { session, call } = await makeHostile();
    const { raw } = await cli(['state', session, '--path', '/facts', '--json']);
    expect(JSON.parse(raw)).toEqual({ [hostile]: [1, long], other: 1 });
    expect(raw.trimEnd()).not.toMatch(/[\p{Cc}\u202e]/u);
    const recalled = await cli(['recall', session, `call:${call}`]);
    expect(JSON.parse(recalled.raw)).toMatchObject({ tool: hostile, status: 'ok', output: long });
    expect(recalled.raw.replaceAll('\n', '')).not.toMatch(/[\p{Cc}\u202e]/u);
  });

  test('[CLI1] an empty state says how to fill it', async () => {
    const { out: opened } = await cli(['open']);
    expect((await cli(['state', opened.trim()])).out).toMatch(/^the state is empty/);
    expect((await cli(['state', opened.trim(), '--path', '/facts'])).out).toBe('/facts is empty\n');
    expect((await cli(['log', opened.trim(), '--commits'])).out).toBe('no commits match\n');
  });
});
