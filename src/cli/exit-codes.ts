import { randomBytes } from 'node:crypto';
import { type ErrorCode, type ErrorDetails, PerdureError } from '../schema/error.ts';

/** The run that was followed was cancelled, waits for somebody, or was left to go on by itself. */
const runEndings = { cancelled: 3, waiting: 4, detached: 130 } as const;
export const exitCodes = { success: 0, failure: 1, wrongCall: 2, defect: 70, ...runEndings } as const;
/** How a command ended that did not fail with an error. */
export type Ending = 'success' | 'failure' | keyof typeof runEndings;
type ExitClass = 'failure' | 'wrongCall';

/** Whether to change the call or the world. */
const exitClassOf: Readonly<Record<ErrorCode, ExitClass>> = {
  INVALID_INPUT: 'wrongCall',
  PAYLOAD_TOO_LARGE: 'wrongCall',
  SESSION_NOT_FOUND: 'failure',
  SESSION_EXISTS: 'failure',
  POINT_NOT_FOUND: 'failure',
  BLOB_NOT_FOUND: 'failure',
  FILE_NOT_FOUND: 'failure',
  ILLEGAL_TRANSITION: 'failure',
  STATE_INVALID: 'wrongCall',
  REVERT_CONFLICT: 'failure',
  ADOPT_CONFLICT: 'failure',
  AGENT_INVALID: 'wrongCall',
  AGENT_VERSION_UNAVAILABLE: 'failure',
  HOSTED_MODEL_UNAVAILABLE: 'failure',
  TOOL_INVALID: 'wrongCall',
  RUN_NOT_FOUND: 'failure',
  SESSION_BUSY: 'failure',
  APPROVAL_NOT_FOUND: 'failure',
  APPROVAL_SETTLED: 'failure',
  APPROVAL_FORBIDDEN: 'failure',
  CONFLICT: 'failure',
  FENCED: 'failure',
  WRITER_FORBIDDEN: 'failure',
  KEY_REUSED: 'failure',
  EVENT_DAMAGED: 'failure',
  EVENT_UNSUPPORTED: 'failure',
  BUNDLE_INVALID: 'failure',
  BUNDLE_CONFLICT: 'failure',
  STORE_BUSY: 'failure',
  STORE_FULL: 'failure',
  STORE_CORRUPT: 'failure',
  STORE_UNAVAILABLE: 'failure',
  STORE_NEWER: 'failure',
  RUNTIME_CLOSED: 'failure',
  FILE_UNAVAILABLE: 'failure',
  FORBIDDEN: 'failure',
  UNAUTHENTICATED: 'failure',
  RATE_LIMITED: 'failure',
  PRECONDITION_FAILED: 'failure',
  WORKSPACE_NOT_FOUND: 'failure',
  MEMBER_NOT_FOUND: 'failure',
  LAST_ADMIN: 'failure',
  KEY_NOT_FOUND: 'failure',
  SECRET_NOT_FOUND: 'failure',
  WEBHOOK_NOT_FOUND: 'failure',
  VAULT_LOCKED: 'failure',
  KEY_IN_USE: 'failure',
  ROUTE_NOT_FOUND: 'failure',
  METHOD_NOT_ALLOWED: 'failure',
  SERVER_UNAVAILABLE: 'failure',
  SERVER_FAILED: 'failure',
};

export interface Failure {
  readonly code: ErrorCode | 'DEFECT';
  readonly message: string;
  readonly details: ErrorDetails;
  readonly exit: number;
  /** Of a defect alone. */
  readonly stack?: string | undefined;
}

/** What went wrong, as this edge tells it. Everything that is not a PerdureError is a defect of ours and gets an id to report it by. */
export const failureOf = (error: unknown): Failure => {
  if (error instanceof PerdureError) {
    const { code, message, details } = error;
    return { code, message, details, exit: exitCodes[exitClassOf[code]] };
  }
  const id = randomBytes(4).toString('hex');
  const what = error instanceof Error ? error.message : String(error);
  return {
    code: 'DEFECT',
    message: `${what} (defect ${id}): please report it; PERDURE_DEBUG=1 shows where it happened`,
    details: { id },
    exit: exitCodes.defect,
    stack: error instanceof Error ? error.stack : undefined,
  };
};
