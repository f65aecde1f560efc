import { expect, test } from 'vitest';
import { deniedCalls, type FilteredArch, seccompFilter } from './seccomp-filter.ts';

const verdicts = {
  allow: 0x7fff0000,
  kill: 0x80000000,
  EPERM: 0x00050001,
  ENOSYS: 0x00050026,
  EAFNOSUPPORT: 0x00050061,
};
const arches = { x64: 0xc000003e, arm64: 0xc00000b7 };

/** Runs the program as the kernel does, for one system call. */
const judge = (program: Buffer, nr: number, arch: number, args: readonly number[] = []): number => {
  const data = Buffer.alloc(64);
  data.writeUInt32LE(nr, 0);
  data.writeUInt32LE(arch, 4);
  for (const [at, value] of args.entries()) data.writeUInt32LE(value >>> 0, 16 + 8 * at);
  let accumulator = 0;
  for (let at = 0; at < program.length / 8; at++) {
    const [code, jt, jf] = [program.readUInt16LE(8 * at), program[8 * at + 2]!, program[8 * at + 3]!];
    const k = program.readUInt32LE(8 * at + 4);
    if (code === 0x20) accumulator = data.readUInt32LE(k);
    else if (code === 0x06) return k;
    else if (code === 0x15) at += accumulator === k ? jt : jf;
    else if (code === 0x35) at += accumulator >= k ? jt : jf;
    else if (code === 0x45) at += (accumulator & k) !== 0 ? jt : jf;
    else throw new Error(`unknown instruction ${code}`);
  }
  throw new Error('the program ran past its end');
};

test.each(['x64', 'arm64'] as const)('[TOOL27] the filter of %s rejects the listed calls and allows others', (name) => {
  const program = seccompFilter(name)!;
  const verdict = (nr: number, ...args: number[]) => judge(program, nr, arches[name], args);
  for (const [call, numbers] of Object.entries(deniedCalls.denied)) {
    const nr = numbers[name];
    if (nr !== undefined) expect([call, verdict(nr)]).toEqual([call, verdicts.EPERM]);
  }
  for (const nr of Object.values(deniedCalls.absent)) expect(verdict(nr)).toBe(verdicts.ENOSYS);
  const { clone, unshare, personality, ioctl, socket } = deniedCalls.checkedCalls[name] as Record<string, number>;
  const [newUser, forkFlags] = [0x10000000, 0x01200011];
  expect([verdict(clone!, forkFlags), verdict(clone!, newUser | forkFlags)]).toEqual([verdicts.allow, verdicts.EPERM]);
  expect([verdict(unshare!, 0x200), verdict(unshare!, newUser), verdict(unshare!, 0x80)]).toEqual([
    verdicts.allow,
    verdicts.EPERM,
    verdicts.EPERM,
  ]);
  expect([verdict(personality!, 0), verdict(personality!, 0x0040000)]).toEqual([verdicts.allow, verdicts.EPERM]);
  expect([verdict(ioctl!, 0, 0x5401), verdict(ioctl!, 0, 0x5412)]).toEqual([verdicts.allow, verdicts.EPERM]);
  expect([1, 2, 10, 16, 40, 38].map((family) => verdict(socket!, family))).toEqual([
    ...Array(4).fill(verdicts.allow),
    ...Array(2).fill(verdicts.EAFNOSUPPORT),
  ]);
  const special = new Set([clone, unshare, personality, ioctl, socket, ...Object.values(deniedCalls.absent)]);
  const plain = new Set(Object.values(deniedCalls.denied).map((numbers) => numbers[name]));
  const others = Array.from({ length: 500 }, (_, nr) => nr).filter((nr) => !special.has(nr) && !plain.has(nr));
  expect(others.filter((nr) => verdict(nr) !== verdicts.allow)).toEqual([]);
});

test('[TOOL27] a call of another architecture, or of x32, ends the process', () => {
  const others: readonly [FilteredArch, number, number][] = [
    ['x64', 1, arches.arm64],
    ['x64', 1, 0x40000003],
    ['x64', 0x40000001, arches.x64],
    ['arm64', 1, arches.x64],
  ];
  for (const [name, nr, arch] of others) expect(judge(seccompFilter(name)!, nr, arch)).toBe(verdicts.kill);
});

test('[TOOL27] there is no filter for other architectures', () => {
  expect(seccompFilter('riscv64')).toBeUndefined();
});
