import type { ImportOptions } from './core/bundles/import-options.ts';
import type { BundleVerification } from './core/bundles/verify-bundle.ts';

/**
 * Checks a bundle as an import would: seal, checksum, hash chains, payloads, commits and blobs. Needs no store, and
 * imports nothing.
 */
export const verifyBundle = async (
  bundle: AsyncIterable<Uint8Array>,
  options?: ImportOptions,
): Promise<BundleVerification> => (await import('./core/bundles/verify-bundle.ts')).verifyBundle(bundle, options);
