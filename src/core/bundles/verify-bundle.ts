import { z } from 'zod';
import { isPerdureError } from '../../schema/error.ts';
import type { SessionId } from '../../schema/ids.ts';
import { parseInput } from '../../schema/parse-input.ts';
import type { SessionSummary } from '../../schema/summary.ts';
import type { SessionCopy, StoredEvent } from '../ports/store.ts';
import { copiedEventProblem } from '../session/events/copied-event-problem.ts';
import { foldSummary } from '../session/summary-fold.ts';
import { bundleInvalid } from './bundle-format.ts';
import { CopiedStates } from './copied-states.ts';
import { ImportOptions } from './import-options.ts';
import { readBundle } from './read-bundle.ts';

/** The sessions of a sound bundle, or the first problem of a bad one. */
export type BundleVerification =
  | {
      readonly ok: true;
      readonly sessions: readonly { readonly session: SessionId; readonly events: number }[];
    }
  | { readonly ok: false; readonly reason: string };

/** Bounds the memory of the check, for a file from an untrusted source. */
const defaultLimits = { maxTreeBytes: 32 * 1024 * 1024, maxCommitBytes: 256 * 1024 * 1024 };

/** Checks that a release of Perdure could have written the events, as every store does when it imports them. */
class CopiedSummaries {
  readonly #sessions = new Map<SessionId, { summary?: SessionSummary; at: number; events: number }>();

  add({ session, parent, events }: SessionCopy): void {
    const known = this.#sessions.get(session) ?? { at: 0, events: 0 };
    for (const event of events) {
      const problem = known.at > event.at ? 'its time is before that of the previous event' : undefined;
      known.summary = this.#after(known.summary, event, problem);
      known.at = event.at;
      known.events += 1;
    }
    if (known.summary?.parent !== parent?.session || known.summary?.forkedAt !== parent?.seq)
      throw bundleInvalid(`the first event of ${session} names a different parent`);
    this.#sessions.set(session, known);
  }

  counts(): readonly { readonly session: SessionId; readonly events: number }[] {
    return [...this.#sessions].map(([session, { events }]) => ({ session, events }));
  }

  #after(before: SessionSummary | undefined, event: StoredEvent, wrong: string | undefined): SessionSummary {
    const problem = wrong ?? copiedEventProblem(before, event);
    const after = problem ? undefined : foldSummary(before, event);
    if (after && after !== 'unreadable') return after;
    throw bundleInvalid(`event ${event.seq} of ${event.session}: ${problem ?? 'its payload cannot be read'}`);
  }
}

/**
 * Checks a bundle as an import would: seal, checksum, hash chains, payloads, commits and blobs. Needs no store, and
 * imports nothing.
 */
export const verifyBundle = async (
  bundle: AsyncIterable<Uint8Array>,
  options: ImportOptions = {},
): Promise<BundleVerification> => {
  const limits = { ...defaultLimits, ...parseInput('the options', z.strictObject(ImportOptions.shape), options) };
  const states = new CopiedStates(limits);
  const summaries = new CopiedSummaries();
  try {
    for await (const item of readBundle(bundle, limits)) {
      if (!('copy' in item)) continue;
      states.add(item.copy);
      summaries.add(item.copy);
    }
  } catch (error) {
    if (isPerdureError(error, 'BUNDLE_INVALID')) return { ok: false, reason: String(error.details.reason) };
    if (isPerdureError(error, 'PAYLOAD_TOO_LARGE')) return { ok: false, reason: error.message };
    throw error;
  }
  return { ok: true, sessions: summaries.counts() };
};
