import { backoffMs } from '../concurrency/backoff.ts';
import { pause } from '../concurrency/pause.ts';
import type { Verification, VerifyOptions } from '../core/maintenance/verify.ts';
import { isPerdureError, PerdureError } from '../schema/error.ts';
import type { VerificationJob } from '../schema/views/session.ts';
import { path } from './address.ts';
import type { Transport } from './transport.ts';

const polls = { firstMs: 50, maxMs: 2000, fixed: 1 };
/** How often a verification is started again, because its server process was lost. */
const maxStarts = 3;

const failureOf = ({ id, session, status, error }: VerificationJob): PerdureError =>
  new PerdureError(
    'SERVER_FAILED',
    status === 'cancelled'
      ? `the verification ${id} of ${session} was cancelled: verify the session again`
      : `the verification ${id} of ${session} failed on the server (${error?.code}): ${error?.message}`,
    { details: { session, verification: id } },
  );

/** Asks for a verification until it has ended. */
const followJob = async (
  transport: Transport,
  at: string,
  started: VerificationJob,
  { signal, onProgress }: VerifyOptions,
): Promise<Verification> => {
  const address = `${at}${path`/verifications/${started.id}`}`;
  let job = started;
  try {
    for (let poll = 1; job.status === 'running'; poll++) {
      if (job.phase !== 'waiting') onProgress?.({ phase: job.phase, done: job.done, total: job.total });
      const waitMs = backoffMs(poll, polls, () => 1);
      await pause(waitMs, { signal });
      signal?.throwIfAborted();
      job = await transport.json<VerificationJob>(address, { signal });
    }
  } catch (error) {
    if (signal?.aborted) await transport.done(address, { method: 'DELETE' }).catch(() => undefined);
    throw error;
  }
  if (job.status !== 'done') throw failureOf(job);
  return job.result as Verification;
};

/** Verifies a session on a server. A large one is verified as a job, which is started again if its process is lost. */
export const verifyAfar = async (
  transport: Transport,
  at: string,
  options: VerifyOptions = {},
): Promise<Verification> => {
  const { quick, signal } = options;
  const answer = await transport.json<Verification | VerificationJob>(`${at}/verify`, { query: { quick }, signal });
  if ('ok' in answer) return answer;
  for (let [job, starts] = [answer, 1]; ; starts++) {
    try {
      return await followJob(transport, at, job, options);
    } catch (error) {
      if (starts >= maxStarts || !isPerdureError(error, 'VERIFICATION_NOT_FOUND')) throw error;
      job = await transport.json(`${at}/verifications`, { method: 'POST', body: { quick }, signal });
    }
  }
};
