import { mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { callCli } from '../../../../test/support/cli/call-cli.ts';

const columns = Number.POSITIVE_INFINITY;

const newFolder = (): string => {
  const folder = mkdtempSync(join(tmpdir(), 'perdure-backup-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
};

test('[ST10, CLI6] backup creates a complete, separate store and reports its file and size', async () => {
  const folder = newFolder();
  const [store, copy] = [join(folder, 'perdure.db'), join(folder, 'copy.db')];
  const id = (await callCli(['open', '--store', `sqlite:${store}`], { columns })).out.trim();
  const made = await callCli(['backup', copy, '--store', `sqlite:${store}`, '--json'], { columns });
  expect(made).toMatchObject({ code: 0, err: '' });
  expect(JSON.parse(made.out)).toEqual({ file: copy, bytes: statSync(copy).size });
  expect((await callCli(['verify', '--all', '--store', `sqlite:${copy}`], { columns })).out).toContain(id);
  const again = await callCli(['backup', copy, '--store', `sqlite:${store}`], { columns });
  expect(again).toMatchObject({ code: 1, err: expect.stringContaining(`${copy} already exists: name a new file`) });
});

test('[ST17, CLI4] without a store, backup creates neither a store nor a copy', async () => {
  const folder = newFolder();
  const call = ['backup', join(folder, 'copy.db'), '--store', `sqlite:${join(folder, 'data', 'perdure.db')}`];
  expect(await callCli(call, { columns })).toMatchObject({
    code: 8,
    err: expect.stringContaining('STORE_UNAVAILABLE: there is no store at'),
  });
  expect(readdirSync(folder)).toEqual([]);
});

test('[ST17] a backup that is not supported is refused with the tool to use instead', async () => {
  const errorOf = async (...more: readonly string[]) => {
    const { code, err } = await callCli(['backup', ...more], { columns });
    expect(code).toBe(2);
    return err;
  };
  expect(await errorOf('copy.db', '--store', 'postgres://ann@localhost:1/none')).toContain(
    '`pg_dump` backs up PostgreSQL: see docs/guides/back-up.md',
  );
  expect(await errorOf('copy.db', '--server', 'http://127.0.0.1:1')).toContain('run it where the store is');
  expect(await errorOf('-', '--store', 'sqlite:none.db')).toContain('name a new file');
});
