import { PerdureError } from '../../schema/error.ts';
import type { ToolDeclaration } from '../session/call-events.ts';
import { type BeginCall, runTracked, streamTracked, type ToolCall } from './tracked-call.ts';

type PlainTool = (input: never, ...rest: never[]) => unknown;
/** Functions, or objects as the AI SDK defines tools: of those `execute` is tracked, and the rest stays as it is. */
export type ToolSet = Readonly<Record<string, PlainTool | object>>;

interface ToolRequest {
  name: string;
  arguments?: Record<string, unknown> | undefined;
}

/** An MCP client. */
export interface ToolClient {
  callTool(request: ToolRequest, ...rest: never[]): Promise<unknown>;
}

type InputOf<T> = T extends (input: infer I, ...rest: never[]) => unknown
  ? I
  : T extends { readonly execute?: ((input: infer I, ...rest: never[]) => unknown) | undefined }
    ? I
    : never;
type Given<O> = O extends AsyncIterable<infer Y> ? Y : Awaited<O>;
type OutputOf<T> = T extends (...all: never[]) => infer O
  ? Given<O>
  : T extends { readonly execute?: ((...all: never[]) => infer O) | undefined }
    ? Given<O>
    : never;

/** By the names of the tools; a client's tools are known to its server alone. */
export type DeclarationsFor<T> = T extends ToolClient
  ? Readonly<Record<string, ToolDeclaration<Record<string, unknown>, Awaited<ReturnType<T['callTool']>>>>>
  : { readonly [Name in keyof T]?: ToolDeclaration<InputOf<T[Name]>, OutputOf<T[Name]>> };

type TrackedFunction<A extends unknown[], R> = [R] extends [AsyncGenerator<infer Y, unknown, never>]
  ? (...all: A) => AsyncGenerator<Y, void, undefined>
  : (...all: A) => Promise<Awaited<R>>;
type TrackedTool<T> = T extends (...all: never[]) => PromiseLike<unknown>
  ? T
  : T extends (...all: infer A) => infer R
    ? TrackedFunction<A, R>
    : T;
/** The same tools: only a function that answered at once answers by a promise, as its call is journaled first. */
export type Tracked<T> = T extends ToolClient ? T : { [Name in keyof T]: TrackedTool<T[Name]> };

type AnyFunction = (...all: unknown[]) => unknown;

/** Where the AI SDK and the MCP clients put what they say of a call. */
interface CallOptions {
  readonly toolCallId?: unknown;
  readonly abortSignal?: unknown;
  readonly signal?: unknown;
}

const signalIn = (all: readonly unknown[]): AbortSignal | undefined =>
  all
    .flatMap((options) => [(options as CallOptions | null)?.abortSignal, (options as CallOptions | null)?.signal])
    .find((signal) => signal instanceof AbortSignal);

const isClient = (tools: object): tools is ToolClient => typeof (tools as Partial<ToolClient>).callTool === 'function';

/** What the AI SDK's MCP client gives as tools would call past the `callTool` that is tracked. */
const givesTools = (client: ToolClient, name: string | symbol): boolean =>
  'toolsFromDefinitions' in client && (name === 'tools' || name === 'toolsFromDefinitions');

const wrapGiven = (begin: BeginCall, given: unknown): unknown =>
  given instanceof Promise ? given.then((tools) => wrapGiven(begin, tools)) : wrapTools(begin, given as ToolSet);

const wrapClient = (begin: BeginCall, client: ToolClient): ToolClient => {
  const callTool = (request: ToolRequest & { readonly options?: unknown }, ...rest: never[]) =>
    runTracked(
      begin,
      { tool: request.name, input: request.arguments ?? {}, signal: signalIn([request.options, ...rest]) },
      () => client.callTool(request, ...rest),
    );
  return new Proxy(client, {
    get: (target, name) => {
      if (name === 'callTool') return callTool;
      const value = Reflect.get(target, name, target) as unknown;
      if (typeof value !== 'function') return value;
      const method = value.bind(target) as AnyFunction;
      return givesTools(target, name) ? (...all: unknown[]) => wrapGiven(begin, method(...all)) : method;
    },
    set: (target, name, value) => Reflect.set(target, name, value, target),
  });
};

type Streaming = (...all: unknown[]) => AsyncIterable<unknown>;
const isStreaming = (run: AnyFunction): run is Streaming =>
  Object.prototype.toString.call(run) === '[object AsyncGeneratorFunction]';

const wrapFunction = (begin: BeginCall, tool: string, run: AnyFunction): AnyFunction => {
  const callOf = (input: unknown, rest: readonly unknown[]): ToolCall => {
    const { toolCallId } = (rest[0] ?? {}) as CallOptions;
    return { tool, input, callId: toolCallId, signal: signalIn(rest) };
  };
  return isStreaming(run)
    ? (input, ...rest) => streamTracked(begin, callOf(input, rest), () => run(input, ...rest))
    : (input, ...rest) => runTracked(begin, callOf(input, rest), () => run(input, ...rest));
};

const lastOf = async (given: unknown): Promise<unknown> => {
  if (typeof (given as Partial<AsyncIterable<unknown>> | null)?.[Symbol.asyncIterator] !== 'function') return given;
  let last: unknown;
  for await (last of given as AsyncIterable<unknown>);
  return last;
};

/** The AI SDK reads an async iterable bit by bit. Of a function that is no generator it is known too late that it gives one. */
const wrapExecute = (begin: BeginCall, name: string, execute: AnyFunction): AnyFunction =>
  wrapFunction(begin, name, isStreaming(execute) ? execute : (...all) => lastOf(execute(...all)));

const wrapTool = (begin: BeginCall, name: string, tool: unknown): unknown => {
  if (typeof tool === 'function') return wrapFunction(begin, name, tool as AnyFunction);
  if (tool === null || typeof tool !== 'object') {
    throw new PerdureError(
      'INVALID_INPUT',
      `the tool ${name} cannot be tracked: pass functions, tools with execute(), or an MCP client`,
    );
  }
  const { execute } = tool as { execute?: AnyFunction };
  if (typeof execute !== 'function') return tool;
  return Object.create(Object.getPrototypeOf(tool), {
    ...Object.getOwnPropertyDescriptors(tool),
    execute: { value: wrapExecute(begin, name, execute.bind(tool)), enumerable: true, writable: true },
  });
};

/** The same tools in the same shape, each call journaled. A tool without `execute` is run by somebody else and left alone. */
export const wrapTools = <Tools extends ToolSet | ToolClient>(begin: BeginCall, tools: Tools): Tracked<Tools> => {
  if (tools === null || typeof tools !== 'object') {
    throw new PerdureError('INVALID_INPUT', 'there is nothing to track: pass a record of tools, or an MCP client');
  }
  const wrapped = isClient(tools)
    ? wrapClient(begin, tools)
    : Object.fromEntries(Object.entries(tools).map(([name, tool]) => [name, wrapTool(begin, name, tool)]));
  return wrapped as Tracked<Tools>;
};
