import { spawnSync } from 'node:child_process';
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { bin, environment } from '../../../test/support/cli/perdure-command.ts';
import { newSqliteFile, openSqlite } from '../../../test/support/stores/sqlite-file.ts';
import { newKey } from '../../testing/contract/contract-setup.ts';
import { rawText } from '../../testing/contract/log/new-events.ts';
import { mustAppend, openSession } from '../../testing/contract/log/session-log.ts';

const mountsHere = 'mount -t tmpfs none /tmp && mount -o remount,ro /tmp';
const mayMount = spawnSync('unshare', ['-m', 'sh', '-c', mountsHere]).status === 0;
const index = fileURLToPath(new URL('./index.ts', import.meta.url));

const newStore = async () => {
  const file = newSqliteFile();
  const store = await openSqlite(file);
  const key = newKey();
  await openSession(store, key);
  await mustAppend(store, key, [rawText('kept')]);
  await store.close();
  const mount = join(dirname(file), 'a mount #1?%41');
  mkdirSync(mount);
  return { file, key, mount };
};

/** Runs the script where `mount` is a file system of its own with a copy of the folder's files, mounted read-only. */
const onReadOnlyMount = (file: string, mount: string, script: string, remount = 'remount,ro') => {
  const mounts = `mount -t tmpfs none "$MOUNT" && cp "$FILE"* "$MOUNT" && mount -o ${remount} "$MOUNT" || exit 99`;
  const { status, stdout, stderr } = spawnSync('unshare', ['-m', 'sh', '-c', `${mounts}\n${script}`], {
    cwd: dirname(file),
    encoding: 'utf8',
    env: { ...environment, FILE: file, MOUNT: mount, NODE: process.execPath, BIN: bin, INDEX: index },
  });
  return { status, out: stdout, err: stderr };
};

const program = (body: string): string => `"$NODE" --input-type=module -e '
const { openSqliteStore } = await import(process.env.INDEX);
const failure = (work) => work.then(() => "none", ({ code, message }) => code + " " + message);
const open = () => openSqliteStore({ file: process.env.MOUNT + "/perdure.db" });
const tell = (told) => console.log(JSON.stringify(told));
${body}'`;
const openFails = program('tell(await failure(open().then((store) => store.close())));');

const noWrites = expect.stringMatching(
  /^STORE_UNAVAILABLE .*accepts no writes.*read-only; .*copy it to a writable disk/,
);

test.skipIf(!mayMount)(
  '[ST26] a store on a read-only file system serves reads and watches, and rejects every write with advice (needs root, to mount)',
  async () => {
    const { file, key, mount } = await newStore();
    const { out, err } = onReadOnlyMount(
      file,
      mount,
      program(`
const store = await open();
const key = ${JSON.stringify(key)};
const unwatch = store.watch(key, () => undefined);
const texts = (await store.read(key, { limit: 10 })).map(({ body }) => Buffer.from(body.bytes).toString());
const head = await store.head(key);
const worker = { worker: "w", machine: "m", process: 1, processStart: "1" };
const writes = await Promise.all([
  store.append({ ...key, writer: "outside", at: 1000, events: [{ payload: new Uint8Array() }] }),
  store.writeRecords(key.workspace, [{ kind: "member", id: "a", onVersion: 0, body: {} }]),
  store.putBlobs(key.workspace, []),
  store.claim({ ...worker, agents: [], limit: 1 }),
  store.leave("w"),
  store.rebuildProjections(key.workspace),
].map(failure));
const snapshot = await failure(store.putSnapshot(key, { seq: 1, foldVersion: 1, parts: {} }));
unwatch();
await store.close();
tell({ texts, seq: head.seq, writes, snapshot });
`),
    );
    expect(err).toBe('');
    expect(JSON.parse(out)).toEqual({
      texts: ['{}', 'kept'],
      seq: 2,
      writes: Array(6).fill(noWrites),
      snapshot: 'none', // skipped, because it is a cache
    });
  },
);

test.skipIf(!mayMount)(
  '[ST26] on a read-only file system `verify` and `backup` work, and `open` fails with advice (needs root, to mount)',
  async () => {
    const { file, mount } = await newStore();
    const cli = (args: string) => `"$NODE" "$BIN" ${args} --store "sqlite:$MOUNT/perdure.db"; echo "exit $?"`;
    const script = ['verify --all', 'backup copy.db', 'open --agent demo'].map(cli).join('\n');
    const { out, err } = onReadOnlyMount(file, mount, script);
    expect(out.match(/exit \d+/g)).toEqual(['exit 0', 'exit 0', 'exit 8']);
    expect(err).toMatch(/STORE_UNAVAILABLE: .*accepts no writes/);
    // The copy is not in WAL mode, and opens on a read-only file system too.
    const copy = onReadOnlyMount(join(dirname(file), 'copy.db'), mount, openFails.replace('perdure.db', 'copy.db'));
    expect(copy.out).toBe('"none"\n');
  },
);

test.skipIf(!mayMount)(
  '[ST26] a write-ahead log with commits on a read-only file system is refused with advice (needs root, to mount)',
  async () => {
    const { file, mount } = await newStore();
    writeFileSync(`${file}-wal`, 'commits');
    const { out } = onReadOnlyMount(file, mount, openFails);
    expect(out).toMatch(/STORE_UNAVAILABLE .*its -wal has writes.*copy both files to a writable disk/);
  },
);

test.skipIf(!mayMount)(
  '[ST26] an older schema on a read-only file system is refused with advice (needs root, to mount)',
  async () => {
    const { file, mount } = await newStore();
    const db = new DatabaseSync(file);
    db.exec('UPDATE meta SET schema = schema - 1');
    db.close();
    const { out } = onReadOnlyMount(file, mount, openFails);
    expect(out).toMatch(/STORE_UNAVAILABLE .*its schema is older.*open it once with this release on a writable disk/);
  },
);

test.skipIf(!mayMount)(
  '[ST26] a mount that is read-only here and may be writable elsewhere is refused with advice (needs root, to mount)',
  async () => {
    const { file, mount } = await newStore();
    const { out } = onReadOnlyMount(file, mount, openFails, 'remount,bind,ro');
    expect(out).toMatch(/STORE_UNAVAILABLE .*other processes may still change it; .*perdure backup/);
  },
);

test.skipIf(!mayMount)(
  '[ST26] a file system that becomes writable under an open store takes its reads back (needs root, to mount)',
  async () => {
    const { file, key, mount } = await newStore();
    const { out } = onReadOnlyMount(
      file,
      mount,
      program(`
import { execFileSync } from "node:child_process";
const store = await open();
execFileSync("mount", ["-o", "remount,rw", process.env.MOUNT]);
tell(await failure(store.head(${JSON.stringify(key)})));
await store.close();
`),
    );
    expect(out).toMatch(/STORE_UNAVAILABLE .*has become writable; close the store and open it again/);
    expect(readdirSync(mount)).toEqual([]);
  },
);
