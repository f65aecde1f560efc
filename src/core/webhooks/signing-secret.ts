import { createHmac, randomBytes } from 'node:crypto';
import { z } from 'zod';
import type { WebhookId } from '../../schema/ids.ts';
import type { Sealer } from '../vault/sealer.ts';

const prefix = 'whsec_';
const secretBytes = 32;

export const newSigningSecret = (): string => `${prefix}${randomBytes(secretBytes).toString('base64')}`;

/** A stored signing secret. It is encrypted if there is a master key, otherwise it is plain text. */
export const KeptSecret = z.union([z.strictObject({ sealed: z.string() }), z.strictObject({ plain: z.string() })]);
export type KeptSecret = z.infer<typeof KeptSecret>;

export const keepSecret = async (sealer: Sealer, webhook: WebhookId, secret: string): Promise<KeptSecret> => {
  const sealed = await sealer.seal(webhook, secret);
  return sealed === undefined ? { plain: secret } : { sealed };
};

export const openSecret = async (sealer: Sealer, webhook: WebhookId, kept: KeptSecret): Promise<string> =>
  'sealed' in kept ? sealer.open(webhook, kept.sealed) : kept.plain;

interface Signed {
  readonly id: string;
  readonly atMs: number;
  readonly body: string;
}

/** Returns the headers of a signed request, as specified by Standard Webhooks. */
export const signedHeaders = (secret: string, { id, atMs, body }: Signed): Readonly<Record<string, string>> => {
  const timestamp = String(Math.floor(atMs / 1000));
  const key = Buffer.from(secret.slice(prefix.length), 'base64');
  const signature = createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64');
  return { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': `v1,${signature}` };
};
