import { z } from 'zod';

/** The options of an import. They are in a separate file, so that the types of the client need no types of Node. */
export const ImportOptions = z.strictObject({
  /** Aborting this signal ends the import early. In that case nothing is imported. */
  signal: z.instanceof(AbortSignal).optional(),
  /** Maximum bytes of the decompressed bundle. Unlimited by default: set it for a bundle from an untrusted source. */
  maxBytes: z.int().positive().optional(),
  /** Maximum bytes of the tree of one folder, which needs about 25 times as much memory. By default 128 MiB. */
  maxTreeBytes: z.int().positive().optional(),
  /** Maximum bytes of all commits together, because their states are held in memory during the check. Unlimited by default. */
  maxCommitBytes: z.int().positive().optional(),
});
export type ImportOptions = z.input<typeof ImportOptions>;
