/** The codes of all failures that a caller can handle. The message says what happened and what to do next. */
export const errorCodes = [
  'INVALID_INPUT',
  'PAYLOAD_TOO_LARGE',
  'SESSION_NOT_FOUND',
  'SESSION_EXISTS',
  'POINT_NOT_FOUND',
  'BLOB_NOT_FOUND',
  'FILE_NOT_FOUND',
  'ILLEGAL_TRANSITION',
  'STATE_INVALID',
  'REVERT_CONFLICT',
  'ADOPT_CONFLICT',
  'EFFECTS_HAPPENED',
  'CALL_REPEATED',
  'CALL_TAINTED',
  'AGENT_INVALID',
  'AGENT_CHANGED',
  'AGENT_VERSION_UNAVAILABLE',
  'HOSTED_MODEL_UNAVAILABLE',
  'RUN_NOT_FOUND',
  'SESSION_BUSY',
  'VERIFICATION_NOT_FOUND',
  'APPROVAL_NOT_FOUND',
  'APPROVAL_SETTLED',
  'APPROVAL_FORBIDDEN',
  'SESSION_HELD',
  'TOOL_INVALID',
  'CONFLICT',
  'FENCED',
  'WRITER_FORBIDDEN',
  'KEY_REUSED',
  'EVENT_DAMAGED',
  'SESSION_DAMAGED',
  'EVENT_UNSUPPORTED',
  'BUNDLE_INVALID',
  'BUNDLE_CONFLICT',
  'STORE_BUSY',
  'STORE_FULL',
  'STORE_CORRUPT',
  'STORE_UNAVAILABLE',
  'STORE_NEWER',
  'STORE_WENT_BACK',
  'RUNTIME_CLOSED',
  'FILE_UNAVAILABLE',
  'FORBIDDEN',
  'UNAUTHENTICATED',
  'RATE_LIMITED',
  'QUOTA_EXCEEDED',
  'QUOTA_EXCLUDED',
  'PRECONDITION_FAILED',
  'WORKSPACE_NOT_FOUND',
  'MEMBER_NOT_FOUND',
  'LAST_ADMIN',
  'KEY_NOT_FOUND',
  'SECRET_NOT_FOUND',
  'WEBHOOK_NOT_FOUND',
  'VAULT_LOCKED',
  'ROOT_REFUSED',
  'KEY_IN_USE',
  'ROUTE_NOT_FOUND',
  'METHOD_NOT_ALLOWED',
  'SERVER_UNAVAILABLE',
  'SERVER_FAILED',
] as const;
export type ErrorCode = (typeof errorCodes)[number];

export type ErrorDetails = Readonly<Record<string, unknown>>;

export class PerdureError extends Error {
  override readonly name = 'PerdureError';
  readonly code: ErrorCode;
  readonly details: ErrorDetails;

  constructor(code: ErrorCode, message: string, options: { details?: ErrorDetails; cause?: unknown } = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.code = code;
    this.details = options.details ?? {};
  }
}

export const isPerdureError = (error: unknown, code?: ErrorCode): error is PerdureError =>
  error instanceof PerdureError && (code === undefined || error.code === code);
