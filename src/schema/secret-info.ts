import { z } from 'zod';
import { secretNamePattern } from './secret-name.ts';

export const SecretName = z.string().regex(secretNamePattern, {
  error: 'expected 1 to 64 letters, digits or _ . -, beginning with a letter or digit',
});

/** What is told of a secret: never its value. */
export const SecretInfo = z
  .strictObject({
    name: SecretName,
    /** What it is for. */
    about: z.string().optional(),
    createdAt: z.int(),
    changedAt: z.int(),
  })
  .meta({ id: 'Secret', description: 'Never with its value.' });
export type SecretInfo = z.infer<typeof SecretInfo>;
