/** A process that holds one store and appends what its parent requests. Argument: the store's address. */
import type { AppendOutcome, AppendRequest, Store } from '../../src/core/ports/store.ts';
import { openStoreAt } from '../support/stores/open-store.ts';

export type StoreRequest = { readonly id: number } & (
  | { readonly task: 'append'; readonly appends: readonly AppendRequest[] }
  /** Repeats the append until it no longer lands. */
  | { readonly task: 'insist'; readonly append: AppendRequest }
);
/** The first reply, with id 0, says that the store is open. */
export type StoreReply = { readonly id: number } & (
  | { readonly outcomes: readonly AppendOutcome[] }
  | { readonly failed: string }
);

/** Limit of repeated appends; more than any test waits for. */
const mostAppends = 3000;

const insist = async (store: Store, append: AppendRequest): Promise<readonly AppendOutcome[]> => {
  const outcomes: AppendOutcome[] = [];
  do outcomes.push(await store.append(append));
  while (outcomes.at(-1)?.outcome === 'appended' && outcomes.length < mostAppends);
  return outcomes;
};

const serve = async (store: Store, request: StoreRequest): Promise<StoreReply> => {
  const { id } = request;
  try {
    if (request.task === 'insist') return { id, outcomes: await insist(store, request.append) };
    return { id, outcomes: await Promise.all(request.appends.map((append) => store.append(append))) };
  } catch (error) {
    return { id, failed: error instanceof Error ? `${error.stack}` : String(error) };
  }
};

const reply = (answer: StoreReply) => process.send?.(answer);
const store = await openStoreAt(process.argv[2]!);
process.on('message', async (request: StoreRequest) => reply(await serve(store, request)));
process.on('disconnect', () => store.close());
reply({ id: 0, outcomes: [] });
