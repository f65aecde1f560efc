import type { TrackDeclaration } from './declaration.ts';
import type { RunTool } from './settle-left.ts';
import { type BeginCall, runTracked } from './tracked-call.ts';
import { type AnyFunction, cannotTrack, runnerIn, signalIn, wrapSet } from './wrap-set.ts';

/**
 * Functions by name, or tools as the AI SDK defines them. For a tool of the AI SDK, only `execute` is tracked, and its
 * other fields stay unchanged.
 */
export type ToolSet = object;

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

/** Declarations by tool name. The tools of an MCP client are known only to its server. */
export type DeclarationsFor<T> = T extends ToolClient
  ? Readonly<Record<string, TrackDeclaration<Record<string, unknown>, Awaited<ReturnType<T['callTool']>>>>>
  : { readonly [Name in keyof T]?: TrackDeclaration<InputOf<T[Name]>, OutputOf<T[Name]>> };

type TrackedFunction<A extends unknown[], R> = [R] extends [AsyncGenerator<infer Y, unknown, never>]
  ? (...all: A) => AsyncGenerator<Y, void, undefined>
  : (...all: A) => Promise<Awaited<R>>;
type TrackedTool<T> = T extends (...all: never[]) => PromiseLike<unknown>
  ? T
  : T extends (...all: infer A) => infer R
    ? TrackedFunction<A, R>
    : T;
/**
 * The type of tracked tools. It is the same type, except that a synchronous function returns a promise, because its
 * call is journaled first.
 */
export type Tracked<T> = T extends ToolClient ? T : { [Name in keyof T]: TrackedTool<T[Name]> };

/** Whether these are the tools of a server. Its results come from outside. */
export const isToolClient = (tools: object): tools is ToolClient =>
  typeof (tools as Partial<ToolClient>).callTool === 'function';

/**
 * Whether the property is a method that returns tools. Tools from the AI SDK's MCP client would bypass the tracked
 * `callTool`.
 */
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

/**
 * Returns the same tools in the same shape, with each call journaled. A tool without `execute` is executed elsewhere
 * and is not changed.
 */
export const wrapTools = <Tools extends ToolSet | ToolClient>(begin: BeginCall, tools: Tools): Tracked<Tools> => {
  if (tools === null || typeof tools !== 'object' || Symbol.iterator in tools) {
    throw cannotTrack('there is nothing to track');
  }
  // `track` is async, and an object with a function `then` would be taken for a promise.
  if (typeof (tools as { then?: unknown }).then === 'function') throw cannotTrack('a tool cannot be called then');
  return (isToolClient(tools) ? wrapClient(begin, tools) : wrapSet(begin, tools)) as Tracked<Tools>;
};

/**
 * Runs the tools of a set outside the loop, to repeat a call that was in flight when its process died. An MCP client
 * runs the tools that are declared for it, because only its server knows the names of all.
 */
export const toolRunner =
  (tools: ToolSet | ToolClient, declarations: object): RunTool =>
  (name) => {
    if (isToolClient(tools)) {
      if (!Object.hasOwn(declarations, name)) return undefined;
      return (input) => tools.callTool({ name, arguments: (input ?? {}) as Record<string, unknown> });
    }
    const run = runnerIn(tools, name);
    return run && ((input, callId) => run(input, { toolCallId: callId, messages: [] }));
  };
