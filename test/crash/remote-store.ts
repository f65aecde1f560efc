import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { AppendOutcome, AppendRequest } from '../../src/core/ports/store.ts';
import type { StoreReply, StoreRequest } from './store-process.ts';

/** A store in a separate process. */
export interface RemoteStore {
  /** Sends all appends at the same time, so that they may share a transaction. */
  append(...appends: readonly AppendRequest[]): Promise<readonly AppendOutcome[]>;
  /** Repeats the append until it no longer lands. */
  insist(append: AppendRequest): Promise<readonly AppendOutcome[]>;
  signal(name: 'SIGSTOP' | 'SIGCONT'): void;
  close(): Promise<void>;
}

type Task<Request = StoreRequest> = Request extends StoreRequest ? Omit<Request, 'id'> : never;
type Answer = PromiseWithResolvers<readonly AppendOutcome[]>;

const program = fileURLToPath(new URL('./store-process.ts', import.meta.url));

export const openRemoteStore = async (address: string): Promise<RemoteStore> => {
  const child = fork(program, [address], { execArgv: [], serialization: 'advanced' });
  const ready: Answer = Promise.withResolvers();
  const answers = new Map<number, Answer>([[0, ready]]);
  const exited = once(child, 'exit').catch(() => undefined);
  child.on('message', (reply: StoreReply) => {
    const answer = answers.get(reply.id);
    if ('failed' in reply) answer?.reject(new Error(reply.failed));
    else answer?.resolve(reply.outcomes);
  });
  exited.then(() => {
    for (const answer of answers.values()) answer.reject(new Error('the store process exited'));
  });
  let lastId = 0;
  const ask = (task: Task): Promise<readonly AppendOutcome[]> => {
    const answer: Answer = Promise.withResolvers();
    answers.set(++lastId, answer);
    child.send({ id: lastId, ...task });
    return answer.promise;
  };
  await ready.promise;
  return {
    append: (...appends) => ask({ task: 'append', appends }),
    insist: (append) => ask({ task: 'insist', append }),
    signal: (name) => {
      child.kill(name);
    },
    close: async () => {
      child.disconnect();
      await exited;
    },
  };
};
