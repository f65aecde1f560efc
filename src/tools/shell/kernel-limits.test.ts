import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { CommandGroup } from './command-group.ts';
import { Confinement } from './confinement.ts';
import { findGroupPlaces, type GroupPlaces } from './group-places.ts';
import { limitsFor } from './kernel-limits.ts';

let root: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'perdure-groups-'));
});
afterEach(() => rmSync(root, { recursive: true }));

const write = (files: Readonly<Record<string, string>>) => {
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(root, name)), { recursive: true });
    writeFileSync(join(root, name), text);
  }
};

/** A host with these cgroup mounts, for a process in these groups. Plain folders stand for the cgroup file system. */
const find = (mounts: readonly string[], groups: readonly string[], mayMove = false) => {
  write({
    'proc/mountinfo': mounts
      .map((mount) => {
        const [type, from, at, options = 'rw'] = mount.split(' ');
        return `31 23 0:28 ${from} ${root}${at} rw - ${type} cgroup ${options}\n`;
      })
      .join(''),
    'proc/cgroup': `${groups.join('\n')}\n`,
  });
  return findGroupPlaces(mayMove, join(root, 'proc'));
};

const parentIn = (places: GroupPlaces | undefined) => [places?.version, places?.parents.pids?.slice(root.length)];

test('[TOOL24] version 2 is used where the process may make groups with limits: in its own group or beside it', () => {
  const enabled = 'cpu memory pids\n';
  write({ 'cg/own/cgroup.subtree_control': enabled, 'cg/own/cgroup.procs': '' });
  expect(parentIn(find(['cgroup2 / /cg'], ['0::/own']))).toEqual([2, '/cg/own']);
  write({ 'cg/unit.service/cgroup.subtree_control': enabled, 'cg/unit.service/worker/cgroup.subtree_control': '' });
  expect(parentIn(find(['cgroup2 / /cg'], ['0::/unit.service/worker']))).toEqual([2, '/cg/unit.service']);
});

test('[TOOL24] a group is not made beside a unit of systemd, whose limits it would escape', () => {
  write({ 'cg/cgroup.subtree_control': 'memory pids', 'cg/unit.service/cgroup.procs': '1\n' });
  expect(find(['cgroup2 / /cg'], ['0::/unit.service'])).toBeUndefined();
});

test('[TOOL24] a process that is alone in a delegated group moves to one of its own, and no other process is moved', () => {
  write({
    'cg/unit.service/cgroup.controllers': 'cpu memory pids',
    'cg/unit.service/cgroup.procs': `${process.pid}\n1\n`,
  });
  expect(find(['cgroup2 / /cg'], ['0::/unit.service'], true)).toBeUndefined();
  write({ 'cg/unit.service/cgroup.procs': `${process.pid}\n` });
  expect(find(['cgroup2 / /cg'], ['0::/unit.service'])).toBeUndefined();
  expect(parentIn(find(['cgroup2 / /cg'], ['0::/unit.service'], true))).toEqual([2, '/cg/unit.service']);
  expect(readFileSync(join(root, 'cg/unit.service/perdure-worker/cgroup.procs'), 'utf8')).toBe(String(process.pid));
  expect(readFileSync(join(root, 'cg/unit.service/cgroup.subtree_control'), 'utf8')).toBe('+pids +memory +cpu');
});

test('[TOOL24] else version 1 is used, also as a container sees it, with the controllers that are writable', () => {
  for (const name of ['pids', 'memory']) mkdirSync(join(root, 'cg', name, 'inner'), { recursive: true });
  const mounts = ['cgroup2 / /cg/unified', 'cgroup /docker/x /cg/pids rw,pids', 'cgroup / /cg/memory rw,memory'];
  const places = find(mounts, ['8:pids:/docker/x/inner', '4:memory:/gone', '0::/']);
  expect(parentIn(places)).toEqual([1, '/cg/pids/inner']);
  expect(places!.parents.memory).toBeUndefined();
  expect(find(['cgroup / /cg/none rw,pids'], ['8:pids:/'])).toBeUndefined();
});

test('[TOOL24] a group has the limits of its command, and its counters name the limit that was met', () => {
  const folders = { pids: join(root, 'pids'), memory: join(root, 'memory'), cpuacct: join(root, 'cpuacct') };
  for (const folder of Object.values(folders)) mkdirSync(folder);
  const group = CommandGroup.create({ version: 1, parents: folders }, { processes: 7, memoryBytes: 4096 });
  const at = (name: keyof typeof folders, file: string) => join(group.folders[name]!, file);
  expect(readFileSync(at('pids', 'pids.max'), 'utf8')).toBe('7');
  expect(readFileSync(at('memory', 'memory.limit_in_bytes'), 'utf8')).toBe('4096');
  expect(group.limitHit()).toBeUndefined();
  writeFileSync(at('memory', 'memory.oom_control'), 'oom_kill_disable 0\nunder_oom 0\noom_kill 2\n');
  expect(group.limitHit()).toBe('memory');
  writeFileSync(at('pids', 'pids.events'), 'max 3\n');
  expect(group.limitHit()).toBe('processes');
  writeFileSync(at('cpuacct', 'cpuacct.usage'), '1500000000\n');
  expect(group.cpuMs()).toBe(1500);
});

test('[TOOL24] a group in version 2 has its own names for the same', () => {
  const group = CommandGroup.create(
    { version: 2, parents: { pids: root, memory: root, cpuacct: root, cpu: root } },
    { processes: 7, memoryBytes: 4096 },
  );
  const at = (file: string) => join(group.folders.pids!, file);
  expect(
    ['pids.max', 'memory.max', 'memory.swap.max', 'memory.oom.group'].map((file) => readFileSync(at(file), 'utf8')),
  ).toEqual(['7', '4096', '0', '1']);
  expect(group.entrances).toEqual([at('cgroup.procs')]);
  writeFileSync(at('memory.events'), 'low 0\nmax 9\noom 1\noom_kill 1\n');
  writeFileSync(at('cpu.stat'), 'usage_usec 2500000\n');
  expect([group.limitHit(), group.cpuMs()]).toEqual(['memory', 2500]);
  expect(existsSync(at('pids.max'))).toBe(true);
});

test('[TOOL28] rlimits take the place of cgroups, but the kernel does not count processes of root', () => {
  expect(limitsFor(undefined, false)).toEqual({ processes: 'rlimit', memory: 'rlimit', cpu: 'rlimit' });
  expect(limitsFor(undefined, true).processes).toBe('watch');
  expect(limitsFor({ version: 1, parents: { pids: root } }, true)).toEqual({
    processes: 'cgroup v1',
    memory: 'rlimit',
    cpu: 'rlimit',
  });
});

test('[TOOL28] a sandbox in which the kernel bounds no processes does not count as one', () => {
  const options = { sandbox: 'auto', network: false, readable: [], bwrap: undefined, recordsFolder: root } as const;
  const unbounded = new Confinement(options, () => limitsFor(undefined, true));
  expect(unbounded.kind).toBe('open');
  if (new Confinement(options).kind === 'sandboxed')
    expect(unbounded.caution).toContain('run the worker as another user');
  const required = new Confinement({ ...options, sandbox: 'required' }, () => limitsFor(undefined, true));
  expect(() => required.sandboxFor({ folder: root, temporary: root })).toThrow('requires a sandbox');
});
