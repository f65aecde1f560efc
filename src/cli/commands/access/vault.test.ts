import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { callCli } from '../../../../test/support/cli/call-cli.ts';
import { openRuntime } from '../../../runtime.ts';
import { type MemoryDatabase, newMemoryDatabase } from '../../../testing/memory-database.ts';
import { openMemoryStore } from '../../../testing/memory-store.ts';
import { readHiddenLine } from '../../terminal/hidden-line.ts';

let database: MemoryDatabase;
let folder: string;
beforeEach(async () => {
  database = newMemoryDatabase();
  folder = await mkdtemp(join(tmpdir(), 'perdure-vault-'));
  vi.stubEnv('PERDURE_MASTER_KEY_FILE', join(folder, 'keys', 'master.key'));
});
afterEach(async () => {
  vi.unstubAllEnvs();
  await rm(folder, { recursive: true });
});

const value = 'ghp_0123456789 with a space';

const cli = (argv: readonly string[], world: Parameters<typeof callCli>[1] = {}) =>
  callCli([...argv, '--store', 'memory'], {
    openRuntime: (options) => openRuntime({ ...options, store: openMemoryStore(database) }),
    ...world,
  });
const typed = (text: string) => ({
  stdin: async function* () {
    yield Buffer.from(text);
  },
});

describe('perdure vault', () => {
  test('[CLIV1] stores a value from stdin without its final newline, or one typed without echo, and prints no value', async () => {
    expect(await cli(['vault', 'set', 'github'], typed(value))).toMatchObject({
      code: 7,
      err: expect.stringMatching(/VAULT_LOCKED.*PERDURE_MASTER_KEY_FILE/s),
    });
    expect((await cli(['vault', 'init'])).code).toBe(0);
    expect((await cli(['vault', 'init'])).code).toBe(6);
    const set = await cli(['vault', 'set', 'github', '--about', 'issues'], typed(`${value}\n`));
    expect(set).toMatchObject({ code: 0, out: 'github is kept\n' });
    const prompts: string[] = [];
    const hiddenLine = async (prompt: string) => {
      prompts.push(prompt);
      return `${value} typed`;
    };
    const asked = await cli(['vault', 'set', 'other', '--json'], { hiddenLine });
    expect(JSON.parse(asked.out)).toMatchObject({ name: 'other' });
    expect(prompts).toEqual(['the value of other: ']);
    const listed = await cli(['vault', 'ls']);
    expect(listed.out).toMatch(/github +now +issues\nother/);
    const opened = await cli(['open', '--title', `with ${value}`]);
    expect((await cli(['show', opened.out.trim()])).out).toContain('with [secret github]');
    expect(await cli(['vault', 'rotate'])).toMatchObject({ code: 0, out: 'a new key seals 2 secrets\n' });
    expect(await cli(['vault', 'rotate', '--master'])).toMatchObject({
      code: 0,
      out: 'a new master key seals 1 workspace\n',
    });
    expect((await cli(['vault', 'rm', 'github'])).code).toBe(0);
    expect((await cli(['vault', 'rm', 'github'])).err).toContain('SECRET_NOT_FOUND');
    for (const { out, err } of [set, asked, listed]) expect(out + err).not.toContain('0123456789');
  });

  test('[CLIV1] accepts no value as an argument, and none that is empty or short', async () => {
    await cli(['vault', 'init']);
    expect((await cli(['vault', 'set', 'github', value], typed(value))).code).toBe(2);
    expect((await cli(['vault', 'set', 'github'], typed('\n'))).code).toBe(2);
    expect((await cli(['vault', 'set', 'github'], { hiddenLine: async () => undefined })).code).toBe(2);
    expect(await cli(['vault', 'set', 'github'], typed('seven77'))).toMatchObject({
      code: 2,
      err: expect.stringMatching(/shorter than 8/),
    });
    expect((await cli(['vault', 'ls'])).out).toContain('no secrets yet');
  });

  test('[CLIV1] the value typed at the prompt is not echoed', async () => {
    const [input, output] = [new PassThrough(), new PassThrough()];
    const line = readHiddenLine(input, output, 'the value: ');
    input.write('ghp_0123\x7f4\r');
    expect(await line).toBe('ghp_0124');
    expect(output.read(output.readableLength).toString()).toBe('the value: \n');
    const left = readHiddenLine(input, output, 'the value: ');
    input.write('half\u0003');
    expect(await left).toBeUndefined();
  });
});
