import { mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { CommandRecord, tailBytes } from './command-record.ts';
import { OutputSink } from './output-sink.ts';

let record: CommandRecord;
beforeEach(() => {
  record = new CommandRecord(mkdtempSync(join(tmpdir(), 'perdure-sink-')));
});
afterEach(() => rmSync(record.folder, { recursive: true }));

const fill = (maxFileBytes: number, chunks: readonly string[]): number => {
  const sink = new OutputSink(record, maxFileBytes);
  for (const chunk of chunks) sink.write(Buffer.from(chunk));
  sink.close();
  return sink.bytes;
};

test('[TOOL11] the beginning and the end of an output are kept exactly', () => {
  expect(fill(5, ['abc', 'defg', 'h'])).toBe(8);
  expect([record.text('output'), record.text('tail')]).toEqual(['abcde', 'fgh']);
});

test('[TOOL11] the kept end of an output is limited in size', () => {
  const chunk = 'x'.repeat(tailBytes / 4);
  fill(1, [...Array.from({ length: 10 }, () => chunk), 'end']);
  expect(record.text('tail')).toHaveLength(tailBytes);
  expect(record.text('tail')).toMatch(/xend$/);
});

test.skipIf(process.platform !== 'linux')('[TOOL11] a full disk does not end a command (needs /dev/full)', () => {
  symlinkSync('/dev/full', record.path('output'));
  expect(fill(100, ['abc', 'def'])).toBe(6);
  expect(readFileSync(record.path('tail'), 'utf8')).toBe('abcdef');
});
