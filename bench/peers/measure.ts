import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { Engine, EngineName } from '../engines/engine.ts';
import { median, sum } from '../statistics.ts';
import { eventsPerTurn } from '../workload.ts';
import type { Mode, SystemName } from './contender.ts';
import type { Resumed, Resuming } from './resume.ts';
import { newSite, type Site } from './sites.ts';
import { Writer } from './writer.ts';

export interface Plan {
  readonly systems: readonly SystemName[];
  readonly turns: number;
  /** How many turns a system writes before the next system gets its turn. */
  readonly block: number;
  readonly forks: number;
  readonly resumes: number;
  /** The time limit for a session whose turns take ever longer. */
  readonly maxMs: number;
  /** The size limit of any session. */
  readonly maxBytes: number;
  readonly libraryUrl: string;
}

/** The measurements of one system on one engine in one mode. */
export interface Measured {
  readonly system: SystemName;
  readonly engine: EngineName;
  readonly mode: Mode;
  /** One time for each turn written. */
  readonly times: number[];
  /** Why the session was stopped early. */
  stopped?: string;
  durability?: string;
  bytesPerTurn?: number;
  fork?: { readonly ms: number; readonly bytes: number };
  context?: Resumed;
  all?: Resumed;
}

const modesOf: Record<SystemName, readonly Mode[]> = {
  bare: ['turn', 'step'],
  perdure: ['turn', 'step'],
  mastra: ['turn', 'step'],
  langgraph: ['turn', 'step'],
  'langgraph-delta': ['step'],
};

/** Whether the system can read a part of the session as context; otherwise its context is everything. */
const hasContext = (system: SystemName): boolean => !system.startsWith('langgraph');
const isOurs = ({ system }: Measured): boolean => system === 'perdure';
/** Whether the system writes much. The other systems wait until its writes are on disk. */
const isHeavy = ({ system }: Measured): boolean => system.startsWith('langgraph');

interface Contest {
  readonly measured: Measured;
  readonly site: Site;
  readonly writer: Writer;
  readonly emptyBytes: number;
}

const resumeProgram = fileURLToPath(new URL('./resume.ts', import.meta.url));
const run = promisify(execFile);
const settle = () => run('sync').catch(() => undefined);
const reason = (error: unknown): string => (error instanceof Error ? error.message : String(error));

const settingOf = ({ system, engine, mode }: Measured, { address }: Site, { libraryUrl }: Plan) => ({
  system,
  engine,
  mode,
  address,
  libraryUrl,
});

const start = async (measured: Measured, site: Site, plan: Plan): Promise<Contest | undefined> => {
  try {
    const writer = await Writer.start(settingOf(measured, site, plan));
    return { measured, site, writer, emptyBytes: await site.netBytes() };
  } catch (error) {
    measured.stopped = `could not begin: ${reason(error)}`;
    await site.remove();
    return undefined;
  }
};

const whyStopped = async ({ measured, site }: Contest, { maxMs, maxBytes }: Plan): Promise<string | undefined> => {
  const spent = sum(measured.times);
  if (isHeavy(measured) && spent > maxMs) return `${Math.round(maxMs / 1000)} s were used up`;
  return (await site.grossBytes()) > maxBytes ? `${(maxBytes / 1e9).toFixed(1)} GB were used up` : undefined;
};

/** Writes a few turns with each system in rotation, so that noise affects all. */
const writeTurns = async (contests: readonly Contest[], plan: Plan): Promise<void> => {
  const light = contests.filter(({ measured }) => !isHeavy(measured));
  const heavy = contests.filter(({ measured }) => isHeavy(measured));
  for (let done = 0, round = 0; done < plan.turns; done += plan.block, round++) {
    const first = round % Math.max(1, light.length);
    const inTurn = [...light.slice(first), ...light.slice(0, first), ...heavy];
    if (heavy.some(({ measured }) => !measured.stopped)) await settle();
    for (const contest of inTurn.filter(({ measured }) => !measured.stopped)) {
      const { measured, writer } = contest;
      try {
        measured.times.push(...(await writer.turns(Math.min(plan.block, plan.turns - done))));
        const stopped = await whyStopped(contest, plan);
        if (stopped && measured.times.length < plan.turns) measured.stopped = stopped;
      } catch (error) {
        measured.stopped = reason(error);
      }
    }
  }
};

const measureForks = async (contests: readonly Contest[], plan: Plan): Promise<void> => {
  const times = contests.map((): number[] => []);
  const before = await Promise.all(contests.map(({ site }) => site.netBytes()));
  for (let round = 0; round < plan.forks; round++) {
    await settle();
    for (const [at, { writer }] of contests.entries()) {
      await writer.fork().then(
        (ms) => times[at]!.push(ms),
        () => undefined,
      );
    }
  }
  for (const [at, { measured, site }] of contests.entries()) {
    const taken = times[at]!;
    if (taken.length === 0) continue;
    measured.fork = { ms: median(taken), bytes: ((await site.netBytes()) - before[at]!) / taken.length };
  }
};

const resume = async (resuming: Resuming): Promise<Resumed> => {
  const flags = ['--disable-warning=ExperimentalWarning', resumeProgram, JSON.stringify(resuming)];
  const { stdout } = await run(process.execPath, flags, { timeout: 120_000 });
  return JSON.parse(stdout.slice(stdout.lastIndexOf('{'))) as Resumed;
};

const middleOf = (all: readonly Resumed[]): Resumed | undefined => {
  const middle = (key: keyof Resumed) => median(all.map((each) => each[key]));
  const [first] = all;
  return (
    first && {
      processMs: middle('processMs'),
      storeMs: middle('storeMs'),
      sessionMs: middle('sessionMs'),
      messages: first.messages,
    }
  );
};

const defaultContextTurns = 25;

const measureResumes = async (contests: readonly Contest[], plan: Plan): Promise<void> => {
  const kinds = ['context', 'all'] as const;
  const oursFirst = contests.toSorted((a, b) => Number(isOurs(b.measured)) - Number(isOurs(a.measured)));
  const asked = oursFirst.flatMap((contest) =>
    kinds.filter((what) => what === 'all' || hasContext(contest.measured.system)).map((what) => ({ contest, what })),
  );
  const found = asked.map((): Resumed[] => []);
  let contextTurns = defaultContextTurns;
  for (let round = 0; round < plan.resumes; round++) {
    for (const [at, { contest, what }] of asked.entries()) {
      const { measured, site, writer } = contest;
      const wanted = { what, contextTurns, session: writer.session };
      const resumed = await resume({ ...settingOf(measured, site, plan), ...wanted }).catch(() => undefined);
      if (!resumed) continue;
      // The other systems must read as many turns as our context holds.
      if (isOurs(measured) && what === 'context') contextTurns = Math.round(resumed.messages / eventsPerTurn);
      found[at]!.push(resumed);
    }
  }
  for (const [at, { contest, what }] of asked.entries()) {
    const middle = middleOf(found[at]!);
    if (middle) contest.measured[what] = middle;
  }
};

export const measureEngine = async (
  engine: Engine,
  plan: Plan,
  progress: (what: string) => void,
): Promise<readonly Measured[]> => {
  const all = plan.systems.flatMap((system) =>
    modesOf[system].map((mode): Measured => ({ system, engine: engine.name, mode, times: [] })),
  );
  const contests: Contest[] = [];
  try {
    progress('start');
    const sites: Site[] = [];
    for (const _ of all) sites.push(await newSite(engine)); // PostgreSQL cannot create two databases at once
    const started = await Promise.all(all.map((measured, at) => start(measured, sites[at]!, plan)));
    contests.push(...started.filter((contest) => contest !== undefined));
    progress(`${plan.turns} turns`);
    await writeTurns(contests, plan);
    for (const { measured, site, writer, emptyBytes } of contests) {
      measured.bytesPerTurn = ((await site.netBytes()) - emptyBytes) / measured.times.length;
      measured.durability = await writer.durability().catch(reason);
    }
    const first = contests.filter(({ measured }) => modesOf[measured.system][0] === measured.mode);
    progress('forks');
    await measureForks(first, plan);
    for (const { writer } of contests) await writer.close();
    progress('resumes');
    await measureResumes(first, plan);
  } finally {
    for (const { writer, site } of contests) {
      await writer.close();
      await site.remove();
    }
  }
  return all;
};
