import { PerdureError } from '../../schema/error.ts';
import { type BeginCall, runTracked, streamTracked, type ToolCall } from './tracked-call.ts';

export type AnyFunction = (...all: unknown[]) => unknown;
type Named = Readonly<Record<string, unknown>>;

/** The fields in which the AI SDK and the MCP clients pass the call id and the abort signal. */
export interface CallOptions {
  readonly toolCallId?: unknown;
  readonly abortSignal?: unknown;
  readonly signal?: unknown;
}

export const signalIn = (all: readonly unknown[]): AbortSignal | undefined =>
  all
    .flatMap((options) => [(options as CallOptions | null)?.abortSignal, (options as CallOptions | null)?.signal])
    .find((signal) => signal instanceof AbortSignal);

const isStreaming = (run: AnyFunction): boolean =>
  Object.prototype.toString.call(run) === '[object AsyncGeneratorFunction]';

const callOf = (tool: string, [input, ...rest]: readonly unknown[]): ToolCall => {
  const { toolCallId } = (rest[0] ?? {}) as CallOptions;
  return { tool, input, callId: toolCallId, signal: signalIn(rest) };
};

/** Wraps a function and keeps its properties. `ownerOf` returns the `this` that the function expects. */
const wrapFunction = (
  begin: BeginCall,
  tool: string,
  run: AnyFunction,
  ownerOf: (self: unknown) => unknown,
  outcomeOf: (given: unknown) => unknown = (given) => given,
): AnyFunction =>
  new Proxy(run, {
    apply: (_, self, all: unknown[]) => {
      const go = () => Reflect.apply(run, ownerOf(self), all);
      return isStreaming(run)
        ? streamTracked(begin, callOf(tool, all), () => go() as AsyncIterable<unknown>)
        : runTracked(begin, callOf(tool, all), () => outcomeOf(go()));
    },
  });

/**
 * Returns the last piece of an async iterable, which tools of the AI SDK may return. A plain function reveals that
 * only when called, too late to stream its pieces.
 */
const lastOf = async (given: unknown): Promise<unknown> => {
  if (typeof (given as Partial<AsyncIterable<unknown>> | null)?.[Symbol.asyncIterator] !== 'function') return given;
  let last: unknown;
  for await (last of given as AsyncIterable<unknown>);
  return last;
};

const executeOf = (tool: unknown): AnyFunction | undefined => {
  const { execute } = (typeof tool === 'object' ? (tool ?? {}) : {}) as { execute?: unknown };
  return typeof execute === 'function' ? (execute as AnyFunction) : undefined;
};

/** Wraps a tool. Returns undefined if the value is not a tool, or if the tool is executed elsewhere. */
const wrapTool = (
  begin: BeginCall,
  name: string,
  tool: unknown,
  ownerOf: (self: unknown) => unknown,
): object | undefined => {
  if (typeof tool === 'function') return wrapFunction(begin, name, tool as AnyFunction, ownerOf);
  const execute = executeOf(tool);
  if (!execute) return undefined;
  return Object.create(Object.getPrototypeOf(tool), {
    ...Object.getOwnPropertyDescriptors(tool),
    execute: { value: wrapFunction(begin, name, execute, () => tool, lastOf), enumerable: true, writable: true },
  });
};

/** Runs a tool of a set outside a loop. Returns undefined if the set has no such tool. */
export const runnerIn = (
  tools: object,
  name: string,
): ((input: unknown, options: { readonly toolCallId: string; readonly messages: [] }) => unknown) | undefined => {
  const isOwn = [Object.prototype, null].includes(Object.getPrototypeOf(tools));
  const tool = isOwn && !Object.hasOwn(tools, name) ? undefined : (tools as Named)[name];
  const run = typeof tool === 'function' && name !== 'constructor' ? (tool as AnyFunction) : executeOf(tool);
  if (!run) return undefined;
  return (input, options) => lastOf(Reflect.apply(run, run === tool ? tools : tool, [input, options]));
};

export const cannotTrack = (why: string): PerdureError =>
  new PerdureError('INVALID_INPUT', `${why}: pass functions or tools with execute() by their names, or an MCP client`);

const wrapRecord = (begin: BeginCall, tools: Named): object => {
  const ownerOf = (self: unknown) => (self === wrapped ? tools : self);
  const wrapped: object = Object.fromEntries(
    Object.entries(tools).map(([name, tool]) => {
      const tracked = wrapTool(begin, name, tool, ownerOf);
      if (!tracked && (tool === null || typeof tool !== 'object')) {
        throw cannotTrack(`the tool ${name} cannot be tracked`);
      }
      return [name, tracked ?? tool];
    }),
  );
  return wrapped;
};

/** The own and inherited properties of an instance. */
const descriptorsOf = (instance: object): ReadonlyMap<string, PropertyDescriptor> => {
  const found = new Map<string, PropertyDescriptor>();
  for (let from = instance; from && from !== Object.prototype; from = Object.getPrototypeOf(from)) {
    for (const [name, descriptor] of Object.entries(Object.getOwnPropertyDescriptors(from))) {
      if (name !== 'constructor' && !found.has(name)) found.set(name, descriptor);
    }
  }
  return found;
};

/**
 * Wraps an instance whose methods are the tools. All other properties are forwarded to the instance, which is also the
 * `this` of its methods.
 */
const wrapInstance = (begin: BeginCall, instance: Named): object => {
  const wrapped: object = Object.create(Object.getPrototypeOf(instance));
  const ownerOf = (self: unknown) => (self === wrapped ? instance : self);
  let tools = 0;
  for (const [name, { value, enumerable = false }] of descriptorsOf(instance)) {
    const tracked = wrapTool(begin, name, value, ownerOf);
    if (tracked) tools += 1;
    const passedOn = { get: () => instance[name], set: (given: unknown) => Reflect.set(instance, name, given) };
    Object.defineProperty(wrapped, name, { ...(tracked ? { value: tracked } : passedOn), enumerable });
  }
  if (tools === 0) throw cannotTrack('there are no tools in this object');
  return wrapped;
};

/**
 * Wraps tools by name. Inside a tool, `this` stays the original, so that calls between tools are not journaled as
 * calls of the loop.
 */
export const wrapSet = (begin: BeginCall, tools: object): object => {
  const isPlain = [Object.prototype, null].includes(Object.getPrototypeOf(tools));
  return isPlain ? wrapRecord(begin, tools as Named) : wrapInstance(begin, tools as Named);
};
