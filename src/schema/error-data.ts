import { type ErrorCode, type ErrorDetails, isPerdureError, PerdureError } from './error.ts';

/** An error in the form that crosses from one thread to another. */
export interface ErrorData {
  /** Absent for a defect: an error that is not a `PerdureError`. */
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
  code ? new PerdureError(code, message, { details, cause }) : new Error(`a thread failed: ${message}`);
