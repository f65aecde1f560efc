import type { Client, Transport } from '@modelcontextprotocol/client';
import { PerdureError } from '../../schema/error.ts';

/** The address of a server, with all secrets filled in. */
export type McpAddress =
  | { readonly command: string; readonly args: readonly string[]; readonly env: Readonly<Record<string, string>> }
  | { readonly url: string; readonly headers: Readonly<Record<string, string>> };

const idleMs = 10_000;

const load = async <T>(loading: Promise<T>): Promise<T> =>
  loading.catch((cause) => {
    throw new PerdureError(
      'TOOL_INVALID',
      'tools of MCP servers need the package @modelcontextprotocol/client: install it',
      {
        cause,
      },
    );
  });

const transportTo = async (address: McpAddress): Promise<Transport> => {
  if ('url' in address) {
    const { StreamableHTTPClientTransport } = await load(import('@modelcontextprotocol/client'));
    return new StreamableHTTPClientTransport(new URL(address.url), {
      requestInit: { headers: address.headers, redirect: 'error' }, // headers may hold secrets, which no other server may get
    });
  }
  const { StdioClientTransport, getDefaultEnvironment } = await load(import('@modelcontextprotocol/client/stdio'));
  const { command, args, env } = address;
  return new StdioClientTransport({
    command,
    args: [...args],
    env: { ...getDefaultEnvironment(), ...env },
    stderr: 'ignore',
  });
};

const connect = async (address: McpAddress): Promise<Client> => {
  const { Client } = await load(import('@modelcontextprotocol/client'));
  const client = new Client({ name: 'perdure', version: '1.0.0' });
  await client.connect(await transportTo(address));
  return client;
};

interface Connection {
  readonly client: Promise<Client>;
  users: number;
  idle?: NodeJS.Timeout;
}

/**
 * One connection per name. It stays open for a while after its last use, so that a server can keep its state between
 * calls.
 */
export class McpConnections {
  readonly #open = new Map<string, Connection>();

  /** Calls with equal names share a connection, so `name` must identify the address. */
  async use<T>(name: string, address: McpAddress, work: (client: Client) => Promise<T>): Promise<T> {
    const connection = this.#open.get(name) ?? this.#connect(name, address);
    clearTimeout(connection.idle);
    connection.users++;
    try {
      return await work(await connection.client);
    } finally {
      connection.users--;
      if (connection.users === 0)
        connection.idle = setTimeout(() => void this.#close(name, connection), idleMs).unref();
    }
  }

  #connect(name: string, address: McpAddress): Connection {
    const client = connect(address);
    const connection: Connection = { client, users: 0 };
    this.#open.set(name, connection);
    const forget = () => {
      if (this.#open.get(name) === connection) this.#open.delete(name);
    };
    client.then((connected) => {
      connected.onclose = forget;
    }, forget);
    return connection;
  }

  async #close(name: string, { client }: Connection): Promise<void> {
    this.#open.delete(name);
    await (await client.catch(() => undefined))?.close().catch(() => undefined);
  }
}
