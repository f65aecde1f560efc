import { AsyncLocalStorage } from 'node:async_hooks';

/** The call of a tool in whose code the process is. */
export interface CurrentCall {
  readonly workspace: string;
  readonly session: string;
  readonly run: string;
  readonly callId: string;
  readonly tool: string;
  /** Removes the secrets that the workspace knows. */
  redact(text: string): string;
}

const storage = new AsyncLocalStorage<CurrentCall | undefined>();

/** Runs the code of a tool. Everything that it starts belongs to the call, also what it does not await. */
export const insideCall = <T>(call: CurrentCall, work: () => T): T => storage.run(call, work);

/**
 * Runs code of the engine for a tool, so that its defects are not taken for the tool's. The returned promise is
 * rejected inside the call, because the tool has to await it.
 */
export const outsideCall = async <T>(work: () => Promise<T>): Promise<T> => await storage.exit(work);

/** The call whose code started what runs now. In a handler of `unhandledRejection`, the call that caused it. */
export const currentCall = (): CurrentCall | undefined => storage.getStore();
