import { PerdureError } from '../../schema/error.ts';
import type { Dispatch, ToolDeclaration } from './track.ts';

type PlainTool = (input: never, ...rest: never[]) => unknown;
/** Functions, or objects as the AI SDK defines tools: of those `execute` is tracked, and the rest stays as it is. */
export type ToolSet = Readonly<Record<string, PlainTool | object>>;

/** An MCP client. */
export interface ToolClient {
  callTool(
    request: { name: string; arguments?: Record<string, unknown> | undefined },
    ...rest: never[]
  ): Promise<unknown>;
}

type InputOf<T> = T extends (input: infer I, ...rest: never[]) => unknown
  ? I
  : T extends { readonly execute?: ((input: infer I, ...rest: never[]) => unknown) | undefined }
    ? I
    : never;
type OutputOf<T> = T extends (...all: never[]) => infer O
  ? Awaited<O>
  : T extends { readonly execute?: ((...all: never[]) => infer O) | undefined }
    ? Awaited<O>
    : never;

export type DeclarationsFor<T> = { readonly [Name in keyof T]?: ToolDeclaration<InputOf<T[Name]>, OutputOf<T[Name]>> };

type AnyFunction = (...all: unknown[]) => unknown;

const isClient = (tools: object): tools is ToolClient => typeof (tools as Partial<ToolClient>).callTool === 'function';

const mcpFailure = (result: unknown): string | undefined => {
  const { isError, content } = (result ?? {}) as { isError?: boolean; content?: { text?: string }[] };
  return isError ? (content?.map(({ text }) => text ?? '').join('\n') ?? 'the tool failed') : undefined;
};

const wrapClient = (dispatch: Dispatch, client: ToolClient): ToolClient =>
  new Proxy(client, {
    get: (target, name) => {
      const value = Reflect.get(target, name, target) as unknown;
      if (name !== 'callTool') return typeof value === 'function' ? value.bind(target) : value;
      return (request: Parameters<ToolClient['callTool']>[0], ...rest: never[]) =>
        dispatch(
          { tool: request.name, input: request.arguments ?? {} },
          () => target.callTool(request, ...rest),
          mcpFailure,
        );
    },
  });

const wrapFunction =
  (dispatch: Dispatch, tool: string, run: AnyFunction): AnyFunction =>
  (input, ...rest) => {
    const { toolCallId } = (rest[0] ?? {}) as { toolCallId?: unknown };
    const callId = typeof toolCallId === 'string' ? toolCallId : undefined;
    return dispatch({ tool, callId, input }, () => run(input, ...rest));
  };

const wrapTool = (dispatch: Dispatch, name: string, tool: unknown): unknown => {
  if (typeof tool === 'function') return wrapFunction(dispatch, name, tool as AnyFunction);
  const { execute } = (tool ?? {}) as { execute?: AnyFunction };
  if (typeof execute === 'function') {
    return { ...(tool as object), execute: wrapFunction(dispatch, name, execute.bind(tool)) };
  }
  if (tool !== null && typeof tool === 'object') return tool;
  throw new PerdureError(
    'INVALID_INPUT',
    `the tool ${name} cannot be tracked: pass functions, tools with execute(), or an MCP client`,
  );
};

/** The same tools in the same shape, each call journaled. A tool without `execute` is run by somebody else and left alone. */
export const wrapTools = <Tools extends ToolSet | ToolClient>(dispatch: Dispatch, tools: Tools): Tools => {
  if (tools === null || typeof tools !== 'object') {
    throw new PerdureError('INVALID_INPUT', 'there is nothing to track: pass a record of tools, or an MCP client');
  }
  if (isClient(tools)) return wrapClient(dispatch, tools) as Tools;
  return Object.fromEntries(
    Object.entries(tools).map(([name, tool]) => [name, wrapTool(dispatch, name, tool)]),
  ) as Tools;
};
