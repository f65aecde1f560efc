import { expect, test } from 'vitest';
import { RowWriter } from './row-writer.ts';

const text = '☃'.repeat(200);
const bytes = new Uint8Array(300).fill(7);

const written = (expectedBytes: number): Buffer => {
  const rows = new RowWriter(1234, 6, expectedBytes);
  for (const row of [1, 2, 3]) {
    rows.row(() => {
      rows.bytea(bytes);
      rows.bigint(row);
      rows.smallint(row);
      rows.integer(row);
      rows.boolean(true);
      rows.text(text);
    });
  }
  return rows.finish();
};

test('[LOG9] rows are written completely, however small the expected size is', () => {
  const roomy = written(100_000);
  expect(roomy.subarray(-3 * text.length).toString()).toBe(text);
  for (let expectedBytes = 0; expectedBytes < roomy.length; expectedBytes++) {
    expect(written(expectedBytes).equals(roomy), `${expectedBytes} bytes expected`).toBe(true);
  }
});
