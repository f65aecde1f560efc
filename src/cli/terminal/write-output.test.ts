import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { writeOutput } from './write-output.ts';

async function* bytes(...texts: string[]): AsyncGenerator<Uint8Array> {
  for (const text of texts) yield Buffer.from(text);
}

describe('writing an output', () => {
  let folder: string;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'perdure-'));
  });
  afterEach(() => rm(folder, { recursive: true }));
  const at = (name: string): string => join(folder, name);

  test('[CLI17] follows a link and keeps the link', async () => {
    mkdirSync(at('elsewhere'));
    writeFileSync(at('elsewhere/old'), 'old');
    symlinkSync('elsewhere/old', at('link'));
    symlinkSync('elsewhere/new', at('dangling'));
    for (const name of ['link', 'dangling']) {
      expect(await writeOutput(at(name), bytes('a', 'b'))).toBe(2);
      expect(lstatSync(at(name)).isSymbolicLink()).toBe(true);
      expect(readFileSync(at(name), 'utf8')).toBe('ab');
    }
    expect(readlinkSync(at('link'))).toBe('elsewhere/old');
    expect(readdirSync(at('elsewhere'))).toEqual(['new', 'old']);
  });

  test('[CLI17] writes into a named pipe and keeps the pipe', async () => {
    expect(spawnSync('mkfifo', [at('pipe')]).status).toBe(0);
    symlinkSync('pipe', at('link'));
    for (const name of ['pipe', 'link']) {
      const [read] = await Promise.all([readFile(at('pipe'), 'utf8'), writeOutput(at(name), bytes('through'))]);
      expect(read).toBe('through');
      expect(lstatSync(at('pipe')).isFIFO()).toBe(true);
    }
  });

  test('[ST9] gives a new file the requested mode, and keeps the mode of an existing one', async () => {
    const modeOf = (name: string): number => statSync(at(name)).mode & 0o777;
    await writeOutput(at('bundle'), bytes('a'), 0o600);
    expect(modeOf('bundle')).toBe(0o600);
    chmodSync(at('bundle'), 0o640);
    await writeOutput(at('bundle'), bytes('b'), 0o600);
    expect(modeOf('bundle')).toBe(0o640);
  });

  test('[CLI1] leaves the existing file unchanged when it fails', async () => {
    writeFileSync(at('kept'), 'kept');
    const failing = async function* () {
      yield* bytes('half');
      throw new Error('no more');
    };
    await expect(writeOutput(at('kept'), failing())).rejects.toThrow('no more');
    expect(readFileSync(at('kept'), 'utf8')).toBe('kept');
    expect(readdirSync(folder)).toEqual(['kept']);
    const refused = { code: 'FILE_UNAVAILABLE', message: expect.stringContaining('folder') };
    for (const name of ['.', 'no/such']) await expect(writeOutput(at(name), bytes('x'))).rejects.toMatchObject(refused);
  });
});
