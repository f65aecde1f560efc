import { z } from 'zod';
import { secretNamePattern } from './secret-name.ts';

export const SecretName = z.string().regex(secretNamePattern, {
  error: 'expected 1 to 64 letters, digits or _ . -, beginning with a letter or digit',
});

/** The public part of a secret: everything except its value. */
export const SecretInfo = z
  .strictObject({
    name: SecretName,
    /** What the secret is used for. */
    about: z.string().optional(),
    createdAt: z.int(),
    changedAt: z.int(),
  })
  .meta({ id: 'Secret', description: 'Never with its value.' });
export type SecretInfo = z.infer<typeof SecretInfo>;
