import { randomBytes } from 'node:crypto';
import { type ErrorCode, type ErrorDetails, PerdureError } from '../../schema/error.ts';
import { stackOf, thrownText } from './thrown-text.ts';

/** All outcomes of a call. Scripts branch on the number, so the meaning of a number must never change. */
export const exitTable = {
  success: { code: 0, about: 'done; the run that was followed succeeded' },
  failure: { code: 1, about: 'a failure: a failed run, a check that found something, an unusable file, damage' },
  wrongCall: { code: 2, about: 'the call is wrong, or a value in it is not valid: fix it' },
  cancelled: { code: 3, about: 'the run that was followed was cancelled' },
  waiting: { code: 4, about: 'the run is waiting for a person, or is paused' },
  notFound: { code: 5, about: 'there is no such session, point, file, member, key, …' },
  conflict: {
    code: 6,
    about: 'not possible right now: somebody else was faster, or something else has to happen first',
  },
  forbidden: { code: 7, about: 'this key, role or password does not allow it' },
  unavailable: { code: 8, about: 'the store, the server or a model is unavailable: check it, then try again' },
  defect: { code: 70, about: 'a defect of Perdure: please report it' },
  detached: { code: 130, about: 'left with Ctrl-C; the run goes on in the background' },
} as const satisfies Record<string, { readonly code: number; readonly about: string }>;
export type ExitClass = keyof typeof exitTable;

export const exitCodes = Object.fromEntries(Object.entries(exitTable).map(([name, { code }]) => [name, code])) as {
  readonly [C in ExitClass]: (typeof exitTable)[C]['code'];
};

/** How a command ended without an error. */
export type Ending = 'success' | 'failure' | 'cancelled' | 'waiting' | 'detached';

/** Exit class of each error code. It tells a script whether to change the call or something else. */
export const exitClassOf: Readonly<Record<ErrorCode, ExitClass>> = {
  INVALID_INPUT: 'wrongCall',
  PAYLOAD_TOO_LARGE: 'wrongCall',
  SESSION_NOT_FOUND: 'notFound',
  SESSION_EXISTS: 'conflict',
  POINT_NOT_FOUND: 'notFound',
  BLOB_NOT_FOUND: 'notFound',
  FILE_NOT_FOUND: 'notFound',
  ILLEGAL_TRANSITION: 'conflict',
  STATE_INVALID: 'wrongCall',
  REVERT_CONFLICT: 'conflict',
  ADOPT_CONFLICT: 'conflict',
  EFFECTS_HAPPENED: 'conflict',
  CALL_REPEATED: 'conflict',
  CALL_TAINTED: 'conflict',
  AGENT_INVALID: 'wrongCall',
  AGENT_CHANGED: 'conflict',
  AGENT_VERSION_UNAVAILABLE: 'unavailable',
  HOSTED_MODEL_UNAVAILABLE: 'unavailable',
  TOOL_INVALID: 'wrongCall',
  RUN_NOT_FOUND: 'notFound',
  SESSION_BUSY: 'conflict',
  VERIFICATION_NOT_FOUND: 'notFound',
  APPROVAL_NOT_FOUND: 'notFound',
  APPROVAL_SETTLED: 'conflict',
  APPROVAL_FORBIDDEN: 'forbidden',
  SESSION_HELD: 'forbidden',
  CONFLICT: 'conflict',
  FENCED: 'conflict',
  WRITER_FORBIDDEN: 'forbidden',
  KEY_REUSED: 'conflict',
  EVENT_DAMAGED: 'failure',
  SESSION_DAMAGED: 'conflict',
  EVENT_UNSUPPORTED: 'failure',
  BUNDLE_INVALID: 'failure',
  BUNDLE_CONFLICT: 'conflict',
  STORE_BUSY: 'unavailable',
  STORE_FULL: 'unavailable',
  STORE_CORRUPT: 'failure',
  STORE_UNAVAILABLE: 'unavailable',
  STORE_NEWER: 'failure',
  STORE_WENT_BACK: 'failure',
  RUNTIME_CLOSED: 'failure',
  FILE_UNAVAILABLE: 'failure',
  FORBIDDEN: 'forbidden',
  UNAUTHENTICATED: 'forbidden',
  RATE_LIMITED: 'unavailable',
  QUOTA_EXCEEDED: 'unavailable',
  QUOTA_EXCLUDED: 'forbidden',
  PRECONDITION_FAILED: 'conflict',
  WORKSPACE_NOT_FOUND: 'notFound',
  MEMBER_NOT_FOUND: 'notFound',
  LAST_ADMIN: 'conflict',
  KEY_NOT_FOUND: 'notFound',
  SECRET_NOT_FOUND: 'notFound',
  WEBHOOK_NOT_FOUND: 'notFound',
  VAULT_LOCKED: 'forbidden',
  ROOT_REFUSED: 'forbidden',
  KEY_IN_USE: 'conflict',
  ROUTE_NOT_FOUND: 'wrongCall',
  METHOD_NOT_ALLOWED: 'wrongCall',
  SERVER_UNAVAILABLE: 'unavailable',
  SERVER_FAILED: 'unavailable',
};

export interface Failure {
  readonly code: ErrorCode | 'DEFECT';
  readonly message: string;
  readonly details: ErrorDetails;
  readonly exit: number;
  /** Stack of the error; only set for defects. */
  readonly stack?: string | undefined;
}

/**
 * Converts an error for the command line. Anything but a PerdureError is a defect of Perdure and gets an id for
 * reporting it.
 */
export const failureOf = (error: unknown): Failure => {
  if (error instanceof PerdureError) {
    const { code, message, details } = error;
    return { code, message, details, exit: exitCodes[exitClassOf[code]] };
  }
  const id = randomBytes(4).toString('hex');
  return {
    code: 'DEFECT',
    message: `${thrownText(error)} (defect ${id}): please report it; PERDURE_DEBUG=1 shows where it happened`,
    details: { id },
    exit: exitCodes.defect,
    stack: error instanceof Error ? stackOf(error) : undefined,
  };
};
