import type { ErrorData } from '../../../schema/error-data.ts';
import type { Change } from '../../waking/watchers.ts';

/** What crosses between the event loop and a thread: plain data alone, in few messages. */
export interface Call {
  readonly id: number;
  readonly op: string;
  readonly args: readonly unknown[];
}

/** An answer may bring buffers that move to the other side instead of being copied. */
export interface Answer<T> {
  readonly value: T;
  readonly transfer?: readonly ArrayBuffer[];
}

/** What a thread can be asked to do. */
export type Operations = Readonly<Record<string, (...args: never[]) => Answer<unknown>>>;
export type ValueOf<Operation extends (...args: never[]) => Answer<unknown>> = ReturnType<Operation>['value'];

export type Reply =
  | { readonly id: number; readonly value: unknown }
  | { readonly id: number; readonly error: ErrorData };

/** A thread answers calls, and tells without being asked what others changed. */
export type FromThread = { readonly replies: readonly Reply[] } | { readonly changes: readonly Change[] };
