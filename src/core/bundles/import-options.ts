import { z } from 'zod';

/** Apart from the import itself, so that the types of the client need nothing of Node. */
export const ImportOptions = z.strictObject({
  /** Ends it before it is done; then nothing was imported. */
  signal: z.instanceof(AbortSignal).optional(),
  /** What the bundle may have when it is decompressed. Without it, anything: set it for one from somebody you do not know. */
  maxBytes: z.int().positive().optional(),
  /** The same of the list of one folder, which takes some 25 times as much memory. 128 MiB unless told. */
  maxTreeBytes: z.int().positive().optional(),
  /** The same of all its commits together, whose states are held while it is judged. */
  maxCommitBytes: z.int().positive().optional(),
});
export type ImportOptions = z.input<typeof ImportOptions>;
