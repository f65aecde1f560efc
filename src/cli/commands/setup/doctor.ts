import { z } from 'zod';
import type { StoreInspection } from '../../../runtime.ts';
import { currentRelease } from '../../../stores/release.ts';
import { configuredModels } from '../../config/configured-models.ts';
import { checkDisk, checkPermissions, checkSandbox, checkVersions, keyFileIn } from '../../doctor/check-host.ts';
import { checkModels, checkVaults, checkWorkers } from '../../doctor/check-runtime.ts';
import { checkClocks, checkConnections, checkStore } from '../../doctor/check-store.ts';
import { type Finding, type FindingStatus, finding, isolated, type Topic, topics } from '../../doctor/finding.ts';
import { type Context, defineCommand } from '../../parse/command.ts';
import { hangingIndent } from '../../terminal/hanging-indent.ts';
import { printableLine } from '../../terminal/printable.ts';
import type { Style } from '../../terminal/terminal.ts';

const styles: Readonly<Record<FindingStatus, Style>> = { ok: 'green', warn: 'yellow', fail: 'red' };
const topicWidth = Math.max(...topics.map((topic) => topic.length));
const statusWidth = 'warn'.length;

const linesOf = (findings: readonly Finding[], { out }: Context): readonly string[] => {
  let shown: Topic | undefined;
  return findings.flatMap(({ topic, status, found, todo }) => {
    const name = (topic === shown ? '' : topic).padEnd(topicWidth);
    shown = topic;
    const mark = `${name}  ${status.padEnd(statusWidth)}  `;
    const painted = `${name}  ${out.style(styles[status], status.padEnd(statusWidth))}  `;
    const below = ' '.repeat(mark.length);
    return [
      ...hangingIndent(mark, printableLine(found), out.columns, painted),
      ...(todo === undefined ? [] : hangingIndent(`${below}→ `, printableLine(todo), out.columns)),
    ];
  });
};

const storeTodo = 'check the address (--store, PERDURE_STORE), the server and the rights of this user';

/** Whether the store can be opened without changing or waiting for anything. */
const isCurrent = (store: StoreInspection | undefined): boolean => {
  if (!store || store.kind === 'other') return store !== undefined;
  const isLocked = store.kind === 'sqlite' && store.writeProblem !== undefined;
  return !isLocked && store.schema !== undefined && store.schema >= store.newestSchema;
};

const examine = async (context: Context): Promise<readonly Finding[]> => {
  const all: Finding[] = [];
  const add = async (...check: Parameters<typeof isolated>): Promise<void> =>
    void all.push(...(await isolated(...check)));
  let store: StoreInspection | undefined;
  let data: string | undefined;
  const inspecting = isolated(
    'store',
    async () => {
      const found = await context.inspectStore();
      [store, data] = [found.store, found.data];
      return checkStore(found.store, context.storeName());
    },
    storeTodo,
  );
  const ofStore = await inspecting;
  const skipped = (topic: Topic) => [
    finding(topic, 'warn', 'not checked, because the store was not opened', 'see store'),
  ];
  const withRuntime = async (topic: Topic, check: () => Promise<readonly Finding[]>): Promise<void> =>
    add(topic, isCurrent(store) ? check : () => skipped(topic));
  await add('versions', () => checkVersions(currentRelease(), store));
  all.push(...ofStore);
  if (isCurrent(store)) {
    // Opening tells more than looking: a release that the store no longer allows, a missing table.
    await add('store', async () => {
      await context.wholeRuntime({ warn: () => undefined });
      return [finding('store', 'ok', 'it opens')];
    });
  }
  await add('disk', () => checkDisk(data ?? '.perdure'));
  const workers = isCurrent(store) ? async () => (await context.wholeRuntime()).workers() : async () => [];
  const live = await workers().then(
    (found) => new Set(found.map(({ machine, process }) => `${machine}/${process}`)).size,
    () => 0,
  );
  await add('connections', () => (store ? checkConnections(store, live + 1) : skipped('connections')));
  await add('clocks', () => (store ? checkClocks(store) : skipped('clocks')));
  await withRuntime('workers', async () => checkWorkers(await workers(), context.now()));
  await add('models', async () => checkModels(await configuredModels(await context.config())));
  await withRuntime('vault', async () => checkVaults(await context.wholeRuntime()));
  await add('sandbox', async () => {
    const { sandboxReport } = await import('../../../tools/shell/sandbox-report.ts');
    const agents = await context.config().then(
      (config) => config.agents,
      () => [],
    );
    return checkSandbox(sandboxReport(), agents);
  });
  const place = data ?? '.perdure';
  const owned = { data: place, store, keyFile: keyFileIn(place, context.env), uid: process.getuid?.() };
  await add('permissions', () => checkPermissions(owned));
  return all;
};

const summaryOf = (findings: readonly Finding[]): string => {
  const count = (wanted: FindingStatus) => findings.filter(({ status }) => status === wanted).length;
  const plural = (number: number, one: string) => `${number} ${one}${number === 1 ? '' : 's'}`;
  return `${count('ok')} ok, ${plural(count('warn'), 'warning')}, ${plural(count('fail'), 'failure')}`;
};

export const doctor = defineCommand({
  name: 'doctor',
  summary: 'check this host, the store and the configuration, and say what to do',
  args: [],
  options: {},
  notes: [
    'It changes nothing: no store is made or migrated, and no model is called. Each line is ok, warn or fail. After a fail it exits with 1.',
  ],
  examples: ['perdure doctor', 'perdure doctor --store postgres://…', 'perdure doctor --json'],
  backingOptions: ['store', 'config'],
  json: z.strictObject({
    ok: z.boolean(),
    findings: z.array(
      z.strictObject({
        topic: z.enum(topics),
        status: z.enum(['ok', 'warn', 'fail']),
        found: z.string(),
        todo: z.string().optional(),
      }),
    ),
  }),
  run: async (context) => {
    const findings = await examine(context);
    const ok = findings.every(({ status }) => status !== 'fail');
    await context.answer({ ok, findings: [...findings] }, () => [
      ...linesOf(findings, context),
      '',
      summaryOf(findings),
    ]);
    return ok ? undefined : 'failure';
  },
});
