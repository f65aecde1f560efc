import { beforeEach, describe, expect, test } from 'vitest';
import { callCli } from '../../../../test/support/cli/call-cli.ts';
import { openRuntime } from '../../../runtime.ts';
import { type MemoryDatabase, newMemoryDatabase } from '../../../testing/memory-database.ts';
import { openMemoryStore } from '../../../testing/memory-store.ts';
import type { Person } from '../../runs/person.ts';
import { displayWidth } from '../../terminal/display-width.ts';

let database: MemoryDatabase;
beforeEach(() => {
  database = newMemoryDatabase();
});

const open = () => openRuntime({ store: openMemoryStore(database) });

const cli = (argv: readonly string[], world: Parameters<typeof callCli>[1] = {}) =>
  callCli([...argv, '--store', 'memory'], {
    openRuntime: (options) => openRuntime({ ...options, store: openMemoryStore(database) }),
    ...world,
  });

const json = async (...argv: readonly string[]) => {
  const { code, out, err } = await cli([...argv, '--json']);
  expect({ code, err }).toEqual({ code: 0, err: '' });
  return JSON.parse(out);
};

/** A person who types the given lines. */
const typing = (...lines: readonly string[]): Person & { readonly prompts: readonly string[] } => {
  const [left, prompts] = [[...lines], [] as string[]];
  return {
    isTerminal: true,
    prompts,
    nextLine: async () => left.shift(),
    prompt: (text) => prompts.push(text),
    onInterrupt: () => undefined,
    onTyping: () => undefined,
    isSilent: async () => undefined,
    close: () => undefined,
  };
};

describe('setup', () => {
  test('[CLIM1] asks for a name, saves it as the profile of the local member, and passes it to agents', async () => {
    const person = typing('  Ann Smith  ');
    const { code, out } = await cli(['setup'], { person: () => person });
    expect({ code, out }).toEqual({ code: 0, out: 'agents now know that they work for Ann Smith\n' });
    expect(person.prompts).toHaveLength(1);
    expect((await json('members', 'ls')).members).toMatchObject([
      { id: 'local', role: 'admin', profile: { name: 'Ann Smith' } },
    ]);
    await json('setup', '--name', 'Ann', '--about', 'Likes tea.');
    expect((await json('members', 'ls')).members).toMatchObject([{ profile: { name: 'Ann', about: 'Likes tea.' } }]);
    const id = (await cli(['send', '--new', 'tour', '--detach'], { startDetached: () => undefined })).out;
    const session = await (await open()).sessions.get(/ses_\w+/.exec(id)![0]);
    const events = await Array.fromAsync(session.events());
    const admitted = events.find(({ type }) => type === 'input.admitted');
    expect(admitted?.payload).toMatchObject({ from: { profile: { name: 'Ann', about: 'Likes tea.' } } });
  });

  test('[CLIM1, AUD1] checks whether the member exists before it writes, so the audit log contains no failed attempt', async () => {
    await json('setup', '--name', 'Ann');
    await json('setup', '--name', 'Ann Smith');
    const { entries } = await json('audit');
    const changes = entries.filter(({ verb }: { verb: string }) => verb !== 'members.list' && verb !== 'audit.list');
    expect(changes.map(({ verb, outcome }: Record<string, string>) => `${verb} ${outcome}`)).toEqual([
      'members.change done',
      'members.add done',
    ]);
  });

  test('[CLIM1, CLI1] saves nothing without a name', async () => {
    expect((await cli(['setup'])).code).toBe(2);
    expect((await cli(['setup'], { person: () => typing('') })).code).toBe(2);
    expect((await cli(['setup'], { person: () => typing() })).code).toBe(2);
    expect((await json('members', 'ls')).members).toEqual([]);
  });
});

describe('members, keys, workspaces and the audit log', () => {
  test('[CLIM2] members can be added, changed, listed and removed', async () => {
    expect((await cli(['members', 'add', 'ann', '--role', 'approver', '--name', 'Ann'])).out).toBe('ann is approver\n');
    expect((await cli(['members', 'set', 'ann', '--role', 'viewer'])).out).toBe('ann is viewer\n');
    expect((await json('members', 'ls')).members).toMatchObject([
      { id: 'ann', role: 'viewer', profile: { name: 'Ann' } },
    ]);
    expect((await cli(['members', 'ls'])).out).toMatch(
      /MEMBER +ROLE +REACH +ADDED +NAME\nann +viewer +workspace +now +Ann\n/,
    );
    expect((await cli(['members', 'rm', 'ann'])).code).toBe(0);
    expect((await cli(['members', 'ls'])).out).toContain('no members yet');
    for (const [argv, code] of [
      [['members', 'add', 'bob', '--role', 'owner'], 2],
      [['members', 'set', 'bob'], 2],
      [['members', 'add', 'a b'], 2],
      [['members', 'rm', 'bob'], 5],
    ] as const) {
      expect((await cli(argv)).code).toBe(code);
    }
  });

  test('[CLIM2] a key is shown once, alone on stdout, and works until it is rotated or revoked', async () => {
    const { out, err, code } = await cli(['keys', 'create', '--name', 'laptop']);
    expect(code).toBe(0);
    expect(out).toMatch(/^pdk_local\.key_\w{26}\.[\w-]{43}\n$/);
    expect(err).toContain('Save it now');
    const runtime = await open();
    const known = (await runtime.authenticate(out.trim()))!;
    expect(known.identity).toMatchObject({ workspace: 'local', member: 'local', role: 'admin' });
    const { id } = known.key;
    const { token, key } = await json('keys', 'rotate', id);
    expect(key.id).toBe(id);
    expect(await runtime.authenticate(out.trim())).toBeUndefined();
    expect(await runtime.authenticate(token)).toBeDefined();
    expect(await cli(['keys', 'revoke', id.slice(4, 7)])).toMatchObject({
      code: 2,
      err: expect.stringMatching(/names no key: give its id, key_…, or\s+its\s+first\s+or\s+last\s+4/),
    });
    expect((await cli(['keys', 'revoke', id])).out).toBe(`${id} of local is revoked\n`);
    expect(await runtime.authenticate(token)).toBeUndefined();
    const secrets = [out, token].map((each: string) => each.trim().split('.')[2]!);
    for (const argv of [['keys', 'ls'], ['audit'], ['members', 'ls']]) {
      const shown = (await cli(argv)).out + JSON.stringify(await json(...argv));
      for (const secret of secrets) expect(shown).not.toContain(secret);
    }
    expect((await cli(['keys', 'ls'], { columns: 200 })).out).toMatch(
      new RegExp(`${id} +local +admin +revoked +now +all +laptop`),
    );
  });

  test('[CLIM2] a key has the requested role, areas and expiry', async () => {
    await cli(['members', 'add', 'ci']);
    const now = Date.UTC(2026, 0, 1);
    const argv = ['keys', 'create', 'ci', '--role', 'viewer', '--area', 'files', '--area', 'sessions', '--json'];
    const made = async (expires: string) => {
      const { out } = await cli([...argv, '--expires', expires], { now: () => now });
      return JSON.parse(out).key;
    };
    expect(await made('2100-01-01')).toMatchObject({
      member: 'ci',
      role: 'viewer',
      areas: ['files', 'sessions'],
      expiresAt: Date.UTC(2100, 0, 1),
    });
    expect((await cli([...argv, '--expires', '90000d'], { now: () => now })).code).toBe(0);
    for (const expires of ['2025-12-31', '0d', 'soon', '-1d']) {
      expect((await cli([...argv, `--expires=${expires}`], { now: () => now })).code).toBe(2);
    }
    expect((await cli([...argv, '--area', 'all'])).code).toBe(2);
    expect((await json('keys', 'ls')).keys).toHaveLength(2);
  });

  test('[CLIM2, PIPE12] workspaces can be added and listed, and have their own members and keys', async () => {
    expect((await cli(['workspaces', 'add', 'acme'])).out).toBe('the workspace acme was added\n');
    expect((await cli(['workspaces', 'ls'])).out).toBe('acme\nlocal\n');
    await cli(['members', 'add', 'ann', '--workspace', 'acme']);
    const { token } = await json('keys', 'create', 'ann', '--workspace', 'acme');
    expect((await (await open()).authenticate(token))?.identity).toMatchObject({ workspace: 'acme', member: 'ann' });
    expect((await json('members', 'ls')).members).toEqual([]);
    expect(await cli(['workspaces', 'add', 'acme'])).toMatchObject({
      code: 0,
      out: 'the workspace acme already exists\n',
    });
    expect((await cli(['workspaces', 'add', 'A'])).code).toBe(2);
  });

  test('[CLI8, CLI22, CLI32] commands fail in a workspace that does not exist, without an effect', async () => {
    await cli(['workspaces', 'add', 'acme']);
    for (const [workspace, meant] of [
      ['acmee', ': did you mean acme?'],
      ['other', ':'],
    ] as const) {
      for (const argv of [['open'], ['ls'], ['members', 'add', 'ann']]) {
        const { code, out, err } = await cli([...argv, '--workspace', workspace]);
        expect({ code, out, err: err.replaceAll('\n', ' ') }).toEqual({
          code: 5,
          out: '',
          err: `error WORKSPACE_NOT_FOUND: there is no workspace ${workspace}${meant} \`perdure workspaces add ${workspace}\` adds it `,
        });
      }
    }
  });

  test('[CLIM2, CLI3] the audit log is listed newest first and fits the terminal, and hostile text stays text', async () => {
    await cli(['members', 'add', 'ann', '--name', 'x\u001b[2J\u202e']);
    await cli(['keys', 'revoke', 'x\u001b[2J\u202e']);
    await cli(['keys', 'create', 'ann', '--name', `${'word '.repeat(30)}\u001b[2J`]);
    for (const argv of [['audit'], ['members', 'ls'], ['keys', 'ls']]) {
      const { code, out, raw } = await cli(argv);
      expect(code).toBe(0);
      for (const line of out.split('\n')) expect(displayWidth(line), line).toBeLessThanOrEqual(80);
      // biome-ignore lint/suspicious/noControlCharactersInRegex: only the two styles of the CLI are removed; no other control character may remain
      expect(raw.replaceAll(/\u001b\[(1|22)m|\n/g, '')).not.toMatch(/[\p{Cc}\u202e]/u);
    }
    const { entries } = await json('audit', '--limit', '4');
    expect(entries.map(({ verb, outcome }: { verb: string; outcome: string }) => `${verb} ${outcome}`)).toEqual([
      'audit.list asked',
      'keys.list done',
      'members.list done',
      'audit.list done',
    ]);
    expect((await cli(['audit', '--limit', '2'])).err).toContain('perdure audit --cursor aud_');
  });
});
