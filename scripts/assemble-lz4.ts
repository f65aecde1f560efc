/** Generates src/stores/codec/lz4-code.ts from src/stores/codec/lz4.wat. */
import { readFileSync, writeFileSync } from 'node:fs';
import openWabt from 'wabt';

const source = new URL('../src/stores/codec/lz4.wat', import.meta.url);
export const target = new URL('../src/stores/codec/lz4-code.ts', import.meta.url);

export const assemble = async (): Promise<string> => {
  const wabt = await openWabt();
  const module = wabt.parseWat('lz4.wat', readFileSync(source, 'utf8'), { bulk_memory: true });
  module.validate();
  const code = Buffer.from(module.toBinary({}).buffer).toString('base64');
  const lines = code.match(/.{1,120}/g) ?? [];
  return [
    '/** Made from lz4.wat by `npm run assemble`. */',
    `export const lz4Code =\n${lines.map((line) => `  '${line}'`).join(' +\n')};`,
    '',
  ].join('\n');
};

if (import.meta.main) writeFileSync(target, await assemble());
