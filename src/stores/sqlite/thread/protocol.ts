import type { ErrorData } from '../../../schema/error-data.ts';
import type { Change } from '../../waking/watchers.ts';

/** A call from the event loop to a thread. Only plain data crosses, in few messages. */
export interface Call {
  readonly id: number;
  readonly op: string;
  readonly args: readonly unknown[];
}

/** `transfer` holds buffers that move to the other side instead of being copied. */
export interface Answer<T> {
  readonly value: T;
  readonly transfer?: readonly ArrayBuffer[];
}

/** The operations that a thread offers. */
export type Operations = Readonly<Record<string, (...args: never[]) => Answer<unknown>>>;
export type ValueOf<Operation extends (...args: never[]) => Answer<unknown>> = ReturnType<Operation>['value'];

export type Reply =
  | { readonly id: number; readonly value: unknown }
  | { readonly id: number; readonly error: ErrorData };

/** A thread answers calls, and reports changes by other processes on its own. */
export type FromThread = { readonly replies: readonly Reply[] } | { readonly changes: readonly Change[] };
