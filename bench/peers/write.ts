/** A process that writes one session with one system, a few turns per request. Argument: a `Writing` as JSON. */
import { timeOf } from '../statistics.ts';
import { oneTurn, realContent } from '../workload.ts';
import type { Setting, SystemName } from './contender.ts';
import { importSystem } from './systems/index.ts';

export interface Writing extends Setting {
  readonly system: SystemName;
}

export type Request =
  | { readonly kind: 'turns'; readonly count: number }
  | { readonly kind: 'fork' }
  | { readonly kind: 'durability' }
  | { readonly kind: 'close' };

export type Reply =
  | { readonly session: string }
  | { readonly times: readonly number[] }
  | { readonly durability: string }
  | { readonly closed: true }
  | { readonly failed: string };

const setting = JSON.parse(process.argv[2]!) as Writing;
const reply = (message: Reply) => process.send!(message);
const content = realContent();

const begin = async () => {
  const system = await importSystem[setting.system](setting.engine, setting.libraryUrl);
  const contender = await system.write(setting);
  const writeTurns = async (count: number): Promise<readonly number[]> => {
    const times: number[] = [];
    for (let done = 0; done < count; done++) times.push(await timeOf(contender.prepare(oneTurn(content))));
    return times;
  };
  const answer = async (request: Request): Promise<Reply> => {
    if (request.kind === 'turns') return { times: await writeTurns(request.count) };
    if (request.kind === 'fork') return { times: [await timeOf(contender.fork)] };
    if (request.kind === 'durability') return { durability: await contender.durability() };
    await contender.close();
    return { closed: true };
  };
  process.on('message', (request: Request) => void answer(request).then(reply, fail));
  reply({ session: contender.session });
};

const fail = (error: unknown) => reply({ failed: error instanceof Error ? error.message : String(error) });

process.on('disconnect', () => process.exit());
await begin().catch(fail);
