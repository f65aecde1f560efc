import { z } from 'zod';
import { Text } from '../../../schema/json.ts';
import { secretNamePattern } from '../../../schema/secret-name.ts';
import { defineRoute } from '../route.ts';
import { nothing } from './fields.ts';

const ofSecret = {
  secret: z.string().regex(secretNamePattern, { error: 'expected the name of a secret, such as github' }),
};
const SecretInfo = z
  .strictObject({ name: z.string(), about: z.string().optional(), createdAt: z.int(), changedAt: z.int() })
  .meta({ id: 'Secret', description: 'Never with its value.' });

export const vaultRoutes = [
  defineRoute({
    method: 'GET',
    path: '/v1/secrets',
    name: 'listSecrets',
    verb: 'vault.list',
    summary: 'The secrets of the workspace by name; no route tells a value',
    answer: z.strictObject({ secrets: z.array(SecretInfo) }),
    handle: async ({ runtime }) => ({ secrets: await runtime.vault.list() }),
  }),
  defineRoute({
    method: 'PUT',
    path: '/v1/secrets/{secret}',
    name: 'setSecret',
    verb: 'vault.set',
    summary: 'Puts a value in, or another in its place',
    params: ofSecret,
    body: z.strictObject({ value: Text.max(32 * 1024), about: Text.max(500).optional() }),
    answer: SecretInfo,
    handle: ({ runtime, params, body: { value, about } }) => runtime.vault.set(params.secret, value, { about }),
  }),
  defineRoute({
    method: 'DELETE',
    path: '/v1/secrets/{secret}',
    name: 'removeSecret',
    verb: 'vault.remove',
    summary: 'Removes it: what was removed is no secret any more',
    params: ofSecret,
    handle: ({ runtime, params }) => runtime.vault.remove(params.secret),
  }),
  defineRoute({
    method: 'POST',
    path: '/v1/secrets/rotate',
    name: 'rotateDataKey',
    verb: 'vault.rotate',
    summary: 'A new data key, by which every secret is sealed anew',
    body: nothing,
    answer: z.strictObject({ secrets: z.int() }),
    handle: ({ runtime }) => runtime.vault.rotate(),
  }),
];
