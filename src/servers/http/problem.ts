import { type ErrorCode, PerdureError } from '../../schema/error.ts';
import { jsonText } from './json-text.ts';

/** HTTP status of each error code. The type requires every code, so a new code cannot be answered as a defect. */
export const statusOf: Record<ErrorCode, number> = {
  INVALID_INPUT: 400,
  UNAUTHENTICATED: 401,
  FORBIDDEN: 403,
  APPROVAL_FORBIDDEN: 403,
  SESSION_HELD: 403,
  WRITER_FORBIDDEN: 403,
  QUOTA_EXCLUDED: 403,
  SESSION_NOT_FOUND: 404,
  POINT_NOT_FOUND: 404,
  BLOB_NOT_FOUND: 404,
  FILE_NOT_FOUND: 404,
  RUN_NOT_FOUND: 404,
  VERIFICATION_NOT_FOUND: 404,
  APPROVAL_NOT_FOUND: 404,
  MEMBER_NOT_FOUND: 404,
  KEY_NOT_FOUND: 404,
  WORKSPACE_NOT_FOUND: 404,
  SECRET_NOT_FOUND: 404,
  WEBHOOK_NOT_FOUND: 404,
  ROUTE_NOT_FOUND: 404,
  METHOD_NOT_ALLOWED: 405,
  SESSION_EXISTS: 409,
  ILLEGAL_TRANSITION: 409,
  REVERT_CONFLICT: 409,
  ADOPT_CONFLICT: 409,
  EFFECTS_HAPPENED: 409,
  CALL_REPEATED: 409,
  CALL_TAINTED: 409,
  SESSION_BUSY: 409,
  APPROVAL_SETTLED: 409,
  CONFLICT: 409,
  LAST_ADMIN: 409,
  FENCED: 409,
  BUNDLE_CONFLICT: 409,
  SESSION_DAMAGED: 409,
  KEY_IN_USE: 409,
  VAULT_LOCKED: 409,
  ROOT_REFUSED: 403,
  PRECONDITION_FAILED: 412,
  PAYLOAD_TOO_LARGE: 413,
  KEY_REUSED: 422,
  STATE_INVALID: 422,
  AGENT_INVALID: 422,
  AGENT_CHANGED: 422,
  TOOL_INVALID: 422,
  BUNDLE_INVALID: 422,
  RATE_LIMITED: 429,
  QUOTA_EXCEEDED: 429,
  SERVER_FAILED: 502,
  SERVER_UNAVAILABLE: 502,
  EVENT_DAMAGED: 500,
  EVENT_UNSUPPORTED: 500,
  STORE_CORRUPT: 500,
  STORE_NEWER: 500,
  STORE_WENT_BACK: 500,
  AGENT_VERSION_UNAVAILABLE: 503,
  HOSTED_MODEL_UNAVAILABLE: 503,
  STORE_BUSY: 503,
  STORE_UNAVAILABLE: 503,
  RUNTIME_CLOSED: 503,
  FILE_UNAVAILABLE: 503,
  STORE_FULL: 507,
};

export const unauthenticated = new PerdureError(
  'UNAUTHENTICATED',
  'the request has no valid API key: send one as authorization: Bearer pdk_…, or put it into PERDURE_KEY for the command line; on the store itself, without --server, `perdure keys ls` lists keys and `perdure keys create` makes one',
);

/** A slot for a run or a stream may be free soon. */
const soonSeconds = 5;

/** When a quota may have room again by itself. Others stay used until something is removed. */
const retryAfterQuota = ({ code, details: { quota, resetsAt } }: PerdureError): number | undefined => {
  if (code !== 'QUOTA_EXCEEDED') return undefined;
  if (typeof resetsAt === 'number') return Math.max(1, Math.ceil((resetsAt - Date.now()) / 1000));
  return quota === 'runs' || quota === 'streams' ? soonSeconds : undefined;
};

/** Copies parts of an error to headers, for clients that do not read the body. */
const headersOf = (error: PerdureError): Record<string, string> => {
  const { retryAfterSeconds = retryAfterQuota(error), allow } = error.details;
  return {
    ...(retryAfterSeconds !== undefined && { 'retry-after': String(retryAfterSeconds) }),
    ...(allow !== undefined && { allow: String(allow) }),
    ...(error === unauthenticated && { 'www-authenticate': 'Bearer realm="perdure"' }),
  };
};

/**
 * Answers with a problem document (RFC 9457). An error that is not a PerdureError is a defect: the client receives
 * only the request id under which the server logged it.
 */
export const problemResponse = (error: unknown, request: string): Response => {
  const known = error instanceof PerdureError ? error : undefined;
  const status = known ? statusOf[known.code] : 500;
  const code = known?.code ?? 'DEFECT';
  const detail = known?.message ?? 'internal error; search the server log for this request id';
  const body = {
    type: `urn:perdure:error:${code}`,
    title: code,
    status,
    detail,
    code,
    details: known?.details ?? {},
    request,
  };
  const headers = { 'content-type': 'application/problem+json', ...(known && headersOf(known)) };
  return new Response(jsonText(body), { status, headers });
};
