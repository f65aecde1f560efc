import { z } from 'zod';
import type { JsonSchema } from '../../core/ports/json-schema.ts';
import type { Effects, RepeatPolicy, Tool, ToolContext } from '../../core/ports/tool.ts';
import { PerdureError } from '../../schema/error.ts';
import { fieldProblem } from '../../schema/field-problem.ts';
import { isSecretName } from '../../schema/secret-name.ts';
import { defineTool, type ToolDefinition } from '../define-tool.ts';
import { type McpAddress, McpConnections } from './mcp-connections.ts';

/**
 * A literal value, or a secret of the vault that is filled in at each call, with an optional prefix such as `Bearer `.
 */
export type McpValue = string | { readonly secret: string; readonly prefix?: string };

export interface McpTool {
  readonly name: string;
  readonly description?: string | undefined;
  readonly inputSchema: JsonSchema;
}

export interface McpServer {
  /** The prefix of the server's tool names: `NAME_tool`. */
  readonly name: string;
  /** A program that speaks MCP on stdin and stdout. Its environment holds only `env`, PATH and similar variables. */
  readonly command?: string;
  readonly args?: readonly string[];
  readonly env?: Readonly<Record<string, McpValue>>;
  /** The URL of a server, instead of `command`. */
  readonly url?: string;
  readonly headers?: Readonly<Record<string, McpValue>>;
  /**
   * The tools, instead of asking the server for its list. The list is requested without secrets, because no workspace
   * is known at that time.
   */
  readonly tools?: readonly McpTool[];
  /** The effects of all tools of the server, as in `defineTool`. */
  readonly effects?: Effects;
  /** What happens to a repeated call of any tool of the server, as in `defineTool`. */
  readonly repeat?: RepeatPolicy;
  readonly approval?: ToolDefinition<typeof AnyInput, unknown>['approval'];
  readonly timeoutMs?: number;
  /** Whether results are data from outside, which taints the session. True by default. */
  readonly untrusted?: boolean;
  /** For the effects `once`: whether calls may run although data from outside is in the context, as in `defineTool`. */
  readonly safeWhenTainted?: boolean;
  /**
   * Whether to treat the descriptions that the server lists as if you had written them. By default they count as data
   * from outside: with them, `once` calls of other tools need an approval. Those that you pass as `tools` do not.
   */
  readonly trustDescriptions?: boolean;
}

const AnyInput = z.looseObject({});
const fields: Record<keyof McpServer, true> = {
  name: true,
  command: true,
  args: true,
  env: true,
  url: true,
  headers: true,
  tools: true,
  effects: true,
  repeat: true,
  approval: true,
  timeoutMs: true,
  untrusted: true,
  safeWhenTainted: true,
  trustDescriptions: true,
};

const invalid = (name: unknown, why: string, cause?: unknown): PerdureError =>
  new PerdureError('TOOL_INVALID', `the MCP server ${String(name)} cannot be used: ${why}`, { cause });

const isValue = (value: unknown): boolean => {
  if (typeof value === 'string') return true;
  if (fieldProblem(value, { secret: true, prefix: true })) return false;
  const { secret, prefix = '' } = value as { secret?: unknown; prefix?: unknown };
  return isSecretName(secret) && typeof prefix === 'string';
};

const problemOf = (server: McpServer): string | undefined => {
  const unknown = fieldProblem(server, fields);
  if (unknown) return unknown;
  const { name, command, url, env = {}, headers = {} } = server;
  if (typeof name !== 'string' || !/^[a-zA-Z][a-zA-Z0-9-]{0,31}$/.test(name)) {
    return 'its name must be a letter, then letters, digits or -, 32 characters at most';
  }
  if ((command === undefined) === (url === undefined)) return 'set either command or url';
  const wrong = Object.entries({ ...env, ...headers }).find(([, value]) => !isValue(value));
  return wrong && `${wrong[0]} is not valid: expected a string or { secret: NAME }`;
};

const valuesOf = ({ env = {}, headers = {} }: McpServer): readonly McpValue[] => [
  ...Object.values(env),
  ...Object.values(headers),
];

const secretsOf = (server: McpServer): readonly string[] => [
  ...new Set(valuesOf(server).flatMap((value) => (typeof value === 'string' ? [] : value.secret))),
];

/** Fills in secrets. Omits values whose secret is missing. */
const filled = (
  values: Readonly<Record<string, McpValue>>,
  secrets: Readonly<Record<string, string>>,
): Record<string, string> =>
  Object.fromEntries(
    Object.entries(values).flatMap(([name, value]) => {
      if (typeof value === 'string') return [[name, value]];
      const { secret, prefix = '' } = value;
      return Object.hasOwn(secrets, secret) ? [[name, `${prefix}${secrets[secret]}`]] : [];
    }),
  );

const addressOf = (server: McpServer, secrets: Readonly<Record<string, string>>): McpAddress =>
  server.url === undefined
    ? { command: server.command!, args: server.args ?? [], env: filled(server.env ?? {}, secrets) }
    : { url: server.url, headers: filled(server.headers ?? {}, secrets) };

/**
 * The output for the model: structured data, or the text, or all parts if some are not text. A failure is passed on
 * unchanged.
 */
const outputOf = (result: Awaited<ReturnType<McpClient['callTool']>>): unknown => {
  if (result.isError) return result;
  if (result.structuredContent !== undefined) return result.structuredContent;
  const texts = result.content.map((part) => (part.type === 'text' ? part.text : undefined));
  return texts.includes(undefined) ? result.content : texts.join('\n');
};

type McpClient = Parameters<Parameters<McpConnections['use']>[2]>[0];

const listTools = async (server: McpServer, connections: McpConnections): Promise<readonly McpTool[]> => {
  try {
    const { tools } = await connections.use('listing', addressOf(server, {}), (client) => client.listTools());
    return tools.map(({ name, description, inputSchema }) => ({
      name,
      description,
      inputSchema: inputSchema as JsonSchema,
    }));
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    throw invalid(
      server.name,
      `it does not list its tools (${why}); pass them as tools: [{ name, inputSchema }]`,
      cause,
    );
  }
};

/** The tools of an MCP server, for agents. Each session has its own connection, with the secrets of its workspace. */
export const mcpTools = async (server: McpServer): Promise<readonly Tool[]> => {
  const problem = problemOf(server);
  if (problem) throw invalid(server?.name, problem);
  const connections = new McpConnections();
  const { effects, repeat, approval, timeoutMs, untrusted = true, safeWhenTainted, trustDescriptions } = server;
  const describedBy = server.tools || trustDescriptions ? undefined : server.name;
  const call = (tool: string, input: object, { workspace, session, secrets, signal }: ToolContext) => {
    const name = JSON.stringify([workspace, session, ...Object.entries(secrets)]);
    return connections.use(name, addressOf(server, secrets), async (client) =>
      outputOf(await client.callTool({ name: tool, arguments: { ...input } }, { signal })),
    );
  };
  return (server.tools ?? (await listTools(server, connections))).map(({ name, description = '', inputSchema }) => ({
    ...defineTool({
      name: `${server.name}_${name}`.replace(/[^a-zA-Z0-9_-]/g, '_').slice(0, 64),
      description,
      input: AnyInput,
      usesFiles: false,
      secrets: secretsOf(server),
      ...(effects !== undefined && { effects }),
      ...(repeat !== undefined && { repeat }),
      ...(approval !== undefined && { approval }),
      ...(timeoutMs !== undefined && { timeoutMs }),
      ...(safeWhenTainted !== undefined && { safeWhenTainted }),
      untrusted,
      execute: (input, context) => call(name, input, context),
    }),
    inputSchema,
    ...(describedBy !== undefined && { describedBy }),
  }));
};
