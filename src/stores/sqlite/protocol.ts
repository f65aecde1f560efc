import { type ErrorCode, type ErrorDetails, isPerdureError, PerdureError } from '../../schema/error.ts';
import type { Change } from '../watchers.ts';

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

export interface ErrorData {
  /** Absent for a defect. */
  readonly code?: ErrorCode;
  readonly message: string;
  readonly details?: ErrorDetails;
  readonly cause?: string | undefined;
}

const textOf = (error: unknown): string => (error instanceof Error ? (error.stack ?? error.message) : String(error));

export const toErrorData = (error: unknown): ErrorData => {
  if (!isPerdureError(error)) return { message: textOf(error) };
  const { code, message, details, cause } = error;
  return { code, message, details, ...(cause !== undefined && { cause: textOf(cause) }) };
};

export const fromErrorData = ({ code, message, details = {}, cause }: ErrorData): Error =>
  code ? new PerdureError(code, message, { details, cause }) : new Error(`a thread of the store failed: ${message}`);
