import { expect, test } from 'vitest';
import { callCliOn } from '../../../../test/support/cli/call-cli.ts';
import { openRuntime } from '../../../runtime.ts';
import { newMemoryDatabase } from '../../../testing/memory-database.ts';
import { openMemoryStore } from '../../../testing/memory-store.ts';
import { demoAgent } from '../../config/demo-agent.ts';

const start = async () => {
  const database = newMemoryDatabase();
  const runtime = await openRuntime({ store: openMemoryStore(database), agents: [demoAgent], worker: false });
  const cli = (...argv: readonly string[]) => callCliOn(database, argv, { columns: Number.POSITIVE_INFINITY });
  const session = await runtime.sessions.open({ title: 'Refund' });
  return { runtime, cli, session, id: session.id };
};

test('[HAND1, HAND11] handoff names a member or a role, and ls, show and approvals show the holder', async () => {
  const { cli, id } = await start();
  const reason = 'above \u001b[31m the limit';
  expect(await cli('handoff', id, '--role', 'approver', '--reason', reason)).toMatchObject({
    code: 0,
    out: `${id} is with role:approver\n`,
  });
  expect((await cli('ls')).out).toMatch(new RegExp(`^${id} +open +role:approver +0 .*Refund$`, 'm'));
  const line = /^ *with role:approver: member:local handed it over .*: above .* the limit$/m;
  for (const shown of [await cli('show', id), await cli('approvals'), await cli('approvals', id)]) {
    expect(shown.out).toMatch(line);
    expect(shown.raw).not.toContain('\u001b');
    expect(shown.out).toContain(`perdure handoff ${id} --to agent --reason WHY`);
  }
  expect(JSON.parse((await cli('approvals', '--json')).out)).toMatchObject({
    sessions: [{ session: id, approvals: [], questions: [], handoff: { by: 'member:local', role: 'approver' } }],
  });
  expect(JSON.parse((await cli('handoff', id, '--member', 'ann', '--json')).out)).toEqual({
    session: id,
    holder: 'human',
    member: 'ann',
  });
  expect((await cli('log', id)).out).toContain('to member:ann');
  expect(await cli('handoff', id, '--to', 'agent')).toMatchObject({ out: `${id} is with the agent\n` });
  expect((await cli('approvals')).out).toBe('nothing is waiting for a person\n');
});

test.each([
  [[], /handoff needs --to agent or human, --member ID or --role ROLE/],
  [['--to', 'agent', '--member', 'ann'], /--to agent takes no --member and no --role/],
  [['--member', 'ann', '--role', 'admin'], /choose --member or --role, not both/],
  [['--role', 'viewer'], /--role/],
  [['--member', 'Not an id'], /--member/],
])('[HAND5] handoff %j is rejected, and nothing is written', async (options, message) => {
  const { cli, id, session } = await start();
  const { seq } = await session.summary();
  expect(await cli('handoff', id, ...options)).toMatchObject({ code: 2, err: expect.stringMatching(message) });
  expect((await session.summary()).seq).toBe(seq);
});
