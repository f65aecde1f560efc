import { createHmac, randomBytes } from 'node:crypto';
import type { Json } from '../../../schema/json.ts';

const prefix = 'whsec_';
const secretBytes = 32;

export const newSigningSecret = (): string => `${prefix}${randomBytes(secretBytes).toString('base64')}`;

/** How secrets are kept in a workspace's records: here and nowhere else. */
export const sealSecret = async (secret: string): Promise<Json> => secret;
export const openSecret = async (kept: Json): Promise<string> => String(kept);

interface Signed {
  readonly id: string;
  readonly atMs: number;
  readonly body: string;
}

/** As standard-webhooks has it. */
export const signedHeaders = (secret: string, { id, atMs, body }: Signed): Readonly<Record<string, string>> => {
  const timestamp = String(Math.floor(atMs / 1000));
  const key = Buffer.from(secret.slice(prefix.length), 'base64');
  const signature = createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64');
  return { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': `v1,${signature}` };
};
