import type { Bench, BenchCase } from '../bench-case.ts';
import { Program } from '../cluster/program.ts';
import { onStage, type Stage } from '../cluster/stage.ts';
import { type Figure, show } from '../figure.ts';
import { writeLargeSession } from '../neighbours/large-session.ts';
import { readersCost } from '../neighbours/readers.ts';
import type { Answered, Asked } from '../neighbours/requests.ts';
import { percentile } from '../statistics.ts';

const large = ({ quick }: Bench) => ({ rounds: quick ? 6 : 20, messages: 1000, commits: 15 });
const maxRatio = 3;

type Client = Program<Asked, Answered>;

const statusText = (statuses: Answered['statuses']): string =>
  Object.entries(statuses)
    .map(([status, times]) => `${times} x ${status}`)
    .join(', ');

/** Times a neighbour's reads while the server is quiet and under an attack, in turns. */
const compare = async (
  name: string,
  clients: { readonly neighbour: Client; readonly attacker: Client },
  read: Extract<Asked, { kind: 'read' }>,
  attack: Extract<Asked, { kind: 'attack' }>,
): Promise<Figure> => {
  const { neighbour, attacker } = clients;
  const quiet: number[] = [];
  const beside: number[] = [];
  let statuses = '';
  for (let round = 0; round < 3; round++) {
    quiet.push(...(await neighbour.ask(read)).times);
    await attacker.ask(attack);
    beside.push(...(await neighbour.ask(read)).times);
    statuses = statusText((await attacker.ask({ kind: 'stop' })).statuses);
  }
  const [before, during] = [percentile(quiet, 0.99), percentile(beside, 0.99)];
  return {
    name: `a neighbour's read beside ${name}, p99, times the quiet p99`,
    value: during / before,
    unit: 'x',
    target: { atMost: maxRatio },
    detail: `${show(during, 'ms')} against ${show(before, 'ms')}, the longest ${show(Math.max(...beside), 'ms')}; answers to the attack: ${statuses}`,
  };
};

const onServer = async (stage: Stage): Promise<readonly Figure[]> => {
  const { library, place, runtime, data, quick } = stage;
  const session = await writeLargeSession(runtime.sessions, large(stage));
  const { token } = await runtime.keys.create({ role: 'viewer' });
  await runtime.workspaces.add('other');
  const other = runtime.as({ workspace: 'other', member: 'local', role: 'admin' });
  const own = await other.sessions.open();
  await own.commit((draft) => {
    for (let at = 0; at < 20; at++) draft.facts[`fact-${at}`] = `value ${at}`;
  });
  const { token: neighbourToken } = await other.keys.create();
  const server = await Program.start<'url', string>('../neighbours/serve.ts', [library.url, place.address, data]);
  const url = `${await server.ask('url')}/v1/sessions`;
  const start = () => Program.start<Asked, Answered>('../neighbours/requests.ts', []);
  const clients = { neighbour: await start(), attacker: await start() };
  const read = {
    kind: 'read',
    url: `${url}/${own.id}/state`,
    token: neighbourToken,
    count: quick ? 100 : 500,
  } as const;
  await clients.neighbour.ask(read);
  const attack = (paths: readonly string[], atOnce: number) =>
    ({ kind: 'attack', urls: paths.map((path) => `${url}/${session}/${path}`), token, atOnce }) as const;
  const seq = (await (await runtime.sessions.get(session)).summary()).seq;
  const points = [0.2, 0.5, 0.8].map((share) => Math.floor(share * seq));
  const [early, middle, late] = points;
  const reads = [
    ...points.map((point) => `state?at=seq:${point}`),
    `diff?from=seq:${early}&to=seq:${late}`,
    `diff?from=seq:${middle}&to=seq:${late}`,
    'context?maxTokens=200000',
    `context?at=seq:${middle}&maxTokens=200000`,
  ];
  try {
    return [
      await compare('12 verifications', clients, read, attack(['verify'], 12)),
      await compare('30 verifications', clients, read, attack(['verify'], 30)),
      await compare('30 checks for damage', clients, read, attack(['damage'], 30)),
      await compare('30 reads of state, diff and context', clients, read, attack(reads, 30)),
    ];
  } finally {
    await Promise.all([clients.neighbour.end(), clients.attacker.end(), server.end()]);
  }
};

/** Measures how much one workspace slows down the reads of another on the same server. */
export const neighbours: BenchCase = async (bench) => {
  bench.progress('neighbours');
  const reads = await onStage(bench, {}, onServer);
  bench.progress('readers');
  return [...reads, ...(await onStage(bench, {}, readersCost))];
};
