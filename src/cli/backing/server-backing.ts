import { parseServer } from '../../client/address.ts';
import type { Client } from '../../client/index.ts';
import type { Config } from '../config/config.ts';
import type { RunCall } from '../dispatch/parse-call.ts';
import { backingOptionsOf } from '../parse/common-options.ts';
import type { World } from '../parse/world.ts';
import { onStoreAlone, wrongCall } from '../parse/wrong-call.ts';
import type { Backing } from './backing.ts';
import { serverKey } from './server-key.ts';

const ofStores = ['store', 'workspace', 'config'] as const;

/**
 * Refuses options that apply only to a store. If they were ignored, the command could silently change the wrong
 * workspace.
 */
const refuseOfStores = ({ env }: World, { command, options }: RunCall): void => {
  const isNamed = options.server !== undefined;
  const given = ofStores.find((name) => options[name] !== undefined);
  if (given) {
    const server = isNamed ? '--server' : 'PERDURE_SERVER';
    throw wrongCall(
      `--${given} is for a store, and with ${server} the server and its key decide that: leave out one of the two`,
    );
  }
  if (env.PERDURE_WORKSPACE && backingOptionsOf(command).includes('workspace')) {
    throw wrongCall(
      'PERDURE_WORKSPACE is for a store, and the key for a server belongs to one workspace: unset it, and use a key of the workspace you mean',
    );
  }
};

/** The server to use: `--server`, or PERDURE_SERVER unless `--store` is given. */
export const serverOf = (world: World, call: RunCall): string | undefined => {
  const { command, options } = call;
  const server = options.server ?? (options.store === undefined ? world.env.PERDURE_SERVER || undefined : undefined);
  if (server === undefined) {
    if (options['key-file'] !== undefined) throw wrongCall('--key-file goes with --server');
    return undefined;
  }
  const taken = backingOptionsOf(command);
  if (!taken.includes('server')) {
    if (!taken.includes('store') || command.isServer) return undefined;
    throw onStoreAlone(command.name, { isServerNamed: options.server !== undefined });
  }
  refuseOfStores(world, call);
  return server;
};

/** Sends everything to the server as the member of the key. The workers of the server execute the runs. */
export const serverBacking = (world: World, { options }: RunCall, server: string): Backing => {
  parseServer(server);
  const key = serverKey(server, options['key-file'], world);
  const notHere = async (): Promise<never> => {
    throw onStoreAlone('this', { isServerNamed: options.server !== undefined });
  };
  let connecting: Promise<Client> | undefined;
  const runtime = (): Promise<Client> => {
    connecting ??= import('../../client/index.ts').then(({ connect }) => connect({ url: server, key }));
    return connecting;
  };
  return {
    server,
    runtime,
    // Only the name and version of each agent are known here. The server needs nothing else.
    config: async () => ({
      agents: (await (await runtime()).agents.list()) as unknown as Config['agents'],
      file: server,
    }),
    wholeRuntime: notHere,
    workspaces: notHere,
    backUp: notHere,
    inspectStore: notHere,
    storeName: () => server,
    worker: notHere,
    startWorker: () => {},
    workerProcesses: notHere,
    given: { server: options.server, 'key-file': options['key-file'] },
    shown: (text) => text,
    close: async () => {},
  };
};
