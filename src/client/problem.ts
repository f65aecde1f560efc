import { type ErrorCode, errorCodes, PerdureError } from '../schema/error.ts';
import { readBounded } from './read-bounded.ts';

/** Why a request failed, and whether a retry may succeed. */
export interface Failure {
  readonly error: unknown;
  readonly isPassing: boolean;
  readonly waitMs?: number | undefined;
}

/** Error codes of temporary conditions, after which a retry may succeed. */
const passingCodes: ReadonlySet<ErrorCode> = new Set([
  'STORE_BUSY',
  'STORE_UNAVAILABLE',
  'RUNTIME_CLOSED',
  'RATE_LIMITED',
]);
const passingStatuses: ReadonlySet<number> = new Set([429, 502, 503, 504]);
const maxProblemBytes = 1024 * 1024;

export const unavailable = (
  message: string,
  options: { readonly cause?: unknown; readonly details?: Readonly<Record<string, unknown>> } = {},
): PerdureError => new PerdureError('SERVER_UNAVAILABLE', message, options);

export interface Problem {
  readonly code: string;
  readonly detail?: string | undefined;
  readonly details?: Readonly<Record<string, unknown>> | undefined;
  readonly request?: string | undefined;
}

/**
 * Rebuilds the error that the server reported. A code unknown to this client, such as DEFECT, becomes SERVER_FAILED.
 */
export const errorOf = ({ code, detail, details = {}, request }: Problem): PerdureError => {
  const known = errorCodes.find((each) => each === code);
  const message = detail ?? `the server failed with ${code}`;
  if (known) return new PerdureError(known, message, { details });
  return new PerdureError('SERVER_FAILED', message, { details: { ...details, code, request } });
};

export const isPassing = (error: unknown): boolean => error instanceof PerdureError && passingCodes.has(error.code);

const problemIn = async (response: Response): Promise<Problem | undefined> => {
  if (!response.headers.get('content-type')?.includes('json')) return undefined;
  try {
    const parsed = JSON.parse(new TextDecoder().decode(await readBounded(response, maxProblemBytes)));
    return typeof parsed?.code === 'string' ? parsed : undefined;
  } catch {
    return undefined;
  }
};

const waitMsOf = ({ headers }: Response): number | undefined => {
  const seconds = headers.get('retry-after');
  return seconds !== null && /^\d{1,6}$/.test(seconds) ? Number(seconds) * 1000 : undefined;
};

/** Converts an unsuccessful response into a failure. */
export const failureOf = async (response: Response): Promise<Failure> => {
  const { status } = response;
  if (response.type === 'opaqueredirect' || (status >= 300 && status < 400)) {
    const to = response.headers.get('location');
    const message = `the server redirects${to ? ` to ${to}` : ''}: the key was not sent there; connect to that address if it is right`;
    return { error: unavailable(message, { details: { status } }), isPassing: false };
  }
  const problem = await problemIn(response);
  await response.body?.cancel().catch(() => undefined);
  const error = problem
    ? errorOf(problem)
    : unavailable(`no Perdure server at this address: it answered with status ${status}`, { details: { status } });
  return {
    error,
    isPassing: problem ? isPassing(error) : passingStatuses.has(status),
    waitMs: waitMsOf(response),
  };
};
