import { Writable } from 'node:stream';
import { expect, test } from 'vitest';
import { OutputClosed, terminalOf } from './terminal.ts';

const failing = (code: string) =>
  terminalOf(
    new Writable({
      write: (_chunk, _encoding, done) => done(Object.assign(new Error(code), { code, syscall: 'write' })),
    }) as unknown as NodeJS.WriteStream,
    'stdout',
  );

test('[CLI1, FAULT1] an error while writing output is reported with its cause, and a closed pipe is not a failure', async () => {
  await expect(failing('ENOSPC').write('x')).rejects.toMatchObject({
    code: 'FILE_UNAVAILABLE',
    message: 'cannot write stdout: the disk is full',
  });
  await expect(failing('EPIPE').write('x')).rejects.toBeInstanceOf(OutputClosed);
});
