/**
 * A seccomp filter for commands in a sandbox, as the bytes of a BPF program (see seccomp(2)). It rejects system calls
 * that reach deep into the kernel and that ordinary programs do not need.
 */

export type FilteredArch = 'x64' | 'arm64';

/** The audit number of the architecture, from linux/audit.h. */
const auditArch: Readonly<Record<FilteredArch, number>> = { x64: 0xc000003e, arm64: 0xc00000b7 };

/** Rejected with EPERM, with the numbers of each architecture. Undefined where the call does not exist. */
const denied: Readonly<Record<string, Readonly<Record<FilteredArch, number | undefined>>>> = {
  ptrace: { x64: 101, arm64: 117 },
  process_vm_readv: { x64: 310, arm64: 270 },
  process_vm_writev: { x64: 311, arm64: 271 },
  kcmp: { x64: 312, arm64: 272 },
  pidfd_getfd: { x64: 438, arm64: 438 },
  mount: { x64: 165, arm64: 40 },
  umount2: { x64: 166, arm64: 39 },
  pivot_root: { x64: 155, arm64: 41 },
  chroot: { x64: 161, arm64: 51 },
  open_tree: { x64: 428, arm64: 428 },
  move_mount: { x64: 429, arm64: 429 },
  fsopen: { x64: 430, arm64: 430 },
  fsconfig: { x64: 431, arm64: 431 },
  fsmount: { x64: 432, arm64: 432 },
  fspick: { x64: 433, arm64: 433 },
  mount_setattr: { x64: 442, arm64: 442 },
  setns: { x64: 308, arm64: 268 },
  open_by_handle_at: { x64: 304, arm64: 265 },
  kexec_load: { x64: 246, arm64: 104 },
  kexec_file_load: { x64: 320, arm64: 294 },
  create_module: { x64: 174, arm64: undefined },
  init_module: { x64: 175, arm64: 105 },
  finit_module: { x64: 313, arm64: 273 },
  delete_module: { x64: 176, arm64: 106 },
  bpf: { x64: 321, arm64: 280 },
  perf_event_open: { x64: 298, arm64: 241 },
  userfaultfd: { x64: 323, arm64: 282 },
  fanotify_init: { x64: 300, arm64: 262 },
  keyctl: { x64: 250, arm64: 219 },
  add_key: { x64: 248, arm64: 217 },
  request_key: { x64: 249, arm64: 218 },
  move_pages: { x64: 279, arm64: 239 },
  migrate_pages: { x64: 256, arm64: 238 },
  acct: { x64: 163, arm64: 89 },
  quotactl: { x64: 179, arm64: 60 },
  quotactl_fd: { x64: 443, arm64: 443 },
  nfsservctl: { x64: 180, arm64: 42 },
  syslog: { x64: 103, arm64: 116 },
  reboot: { x64: 169, arm64: 142 },
  swapon: { x64: 167, arm64: 224 },
  swapoff: { x64: 168, arm64: 225 },
  settimeofday: { x64: 164, arm64: 170 },
  clock_settime: { x64: 227, arm64: 112 },
  clock_adjtime: { x64: 305, arm64: 266 },
  adjtimex: { x64: 159, arm64: 171 },
  sethostname: { x64: 170, arm64: 161 },
  setdomainname: { x64: 171, arm64: 162 },
  vhangup: { x64: 153, arm64: 58 },
  lookup_dcookie: { x64: 212, arm64: 18 },
  uselib: { x64: 134, arm64: undefined },
  modify_ldt: { x64: 154, arm64: undefined },
  iopl: { x64: 172, arm64: undefined },
  ioperm: { x64: 173, arm64: undefined },
};

/** Rejected with ENOSYS, because programs then use an older call instead. */
const absent: Readonly<Record<string, number>> = {
  io_uring_setup: 425,
  io_uring_enter: 426,
  io_uring_register: 427,
  // The filter cannot read its flags, which are in memory. The C library falls back to clone.
  clone3: 435,
};

/** Checked by an argument. */
const checkedCalls: Readonly<Record<FilteredArch, Readonly<Record<string, number>>>> = {
  x64: { clone: 56, unshare: 272, personality: 135, ioctl: 16, socket: 41 },
  arm64: { clone: 220, unshare: 97, personality: 92, ioctl: 29, socket: 198 },
};

/** CLONE_NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID and NEWNET. */
const newNamespaces = 0x7e020000;
/** CLONE_NEWTIME. In clone, these bits hold a signal number. */
const newTime = 0x80;
/** TIOCSTI and TIOCLINUX type into a terminal. */
const terminalInput = [0x5412, 0x541c];
/** AF_UNIX, AF_INET, AF_INET6 and AF_NETLINK. Others, such as AF_VSOCK, can leave the network namespace. */
const families = [1, 2, 10, 16];
/** PER_LINUX, and the query for the current value. */
const personalities = [0, 0xffffffff];

const errno = { EPERM: 1, ENOSYS: 38, EAFNOSUPPORT: 97 };
const x32Bit = 0x40000000;

const allow = 0x7fff0000;
const killProcess = 0x80000000;
const fail = (code: keyof typeof errno): number => 0x00050000 | errno[code];

interface Instruction {
  readonly code: number;
  readonly jt?: number;
  readonly jf?: number;
  readonly k: number;
}

const load = (offset: number): Instruction => ({ code: 0x20, k: offset });
const give = (k: number): Instruction => ({ code: 0x06, k });
/** Runs the next instruction only if the test holds. */
const ifEqual = (k: number, jf: number): Instruction => ({ code: 0x15, jt: 0, jf, k });
const ifAtLeast = (k: number, jf: number): Instruction => ({ code: 0x35, jt: 0, jf, k });
const ifAnyBit = (k: number, jf: number): Instruction => ({ code: 0x45, jt: 0, jf, k });

const nrOffset = 0;
const archOffset = 4;
/** The low half of an argument. Both architectures are little-endian. */
const argOffset = (index: number): number => 16 + 8 * index;

/** Runs `body` if this is the system call, and ends the program with its verdict. */
const onCall = (nr: number, body: readonly Instruction[]): readonly Instruction[] => [
  ifEqual(nr, body.length),
  ...body,
];

const onBits = (nr: number, mask: number): readonly Instruction[] =>
  onCall(nr, [load(argOffset(0)), ifAnyBit(mask, 1), give(fail('EPERM')), give(allow)]);

const onValues = (nr: number, index: number, values: readonly number[], found: number, other: number) =>
  onCall(nr, [load(argOffset(index)), ...values.flatMap((value) => [ifEqual(value, 1), give(found)]), give(other)]);

const instructions = (arch: FilteredArch): readonly Instruction[] => {
  const { clone, unshare, personality, ioctl, socket } = checkedCalls[arch] as Record<string, number>;
  const plain = Object.values(denied).flatMap((numbers) => numbers[arch] ?? []);
  return [
    load(archOffset),
    { code: 0x15, jt: 1, jf: 0, k: auditArch[arch] },
    give(killProcess),
    load(nrOffset),
    ...(arch === 'x64' ? [ifAtLeast(x32Bit, 1), give(killProcess)] : []),
    ...plain.flatMap((nr) => onCall(nr, [give(fail('EPERM'))])),
    ...Object.values(absent).flatMap((nr) => onCall(nr, [give(fail('ENOSYS'))])),
    ...onBits(clone!, newNamespaces),
    ...onBits(unshare!, newNamespaces | newTime),
    ...onValues(personality!, 0, personalities, allow, fail('EPERM')),
    ...onValues(ioctl!, 1, terminalInput, fail('EPERM'), allow),
    ...onValues(socket!, 0, families, allow, fail('EAFNOSUPPORT')),
    give(allow),
  ];
};

/** The filter as bwrap reads it. Undefined on an architecture without one. */
export const seccompFilter = (arch: string = process.arch): Buffer | undefined => {
  if (process.platform !== 'linux' || (arch !== 'x64' && arch !== 'arm64')) return undefined;
  const program = instructions(arch);
  const bytes = Buffer.alloc(8 * program.length);
  for (const [at, { code, jt = 0, jf = 0, k }] of program.entries()) {
    bytes.writeUInt16LE(code, 8 * at);
    bytes.writeUInt8(jt, 8 * at + 2);
    bytes.writeUInt8(jf, 8 * at + 3);
    bytes.writeUInt32LE(k >>> 0, 8 * at + 4);
  }
  return bytes;
};

/** The rejected calls by name, for tests and reports. */
export const deniedCalls = { denied, absent, checkedCalls } as const;
