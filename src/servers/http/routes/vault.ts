import { z } from 'zod';
import { Text } from '../../../schema/json.ts';
import { SecretInfo, SecretName } from '../../../schema/secret-info.ts';
import { ResealedView } from '../../../schema/views/registry.ts';
import { defineRoute } from '../route.ts';
import { nothing } from './fields.ts';

const ofSecret = { secret: SecretName };

export const vaultRoutes = [
  defineRoute({
    method: 'GET',
    path: '/v1/secrets',
    name: 'listSecrets',
    verb: 'vault.list',
    summary: 'The secrets of the workspace by name; no route returns a value',
    answer: z.strictObject({ secrets: z.array(SecretInfo) }),
    handle: async ({ runtime }) => ({ secrets: await runtime.vault.list() }),
  }),
  defineRoute({
    method: 'PUT',
    path: '/v1/secrets/{secret}',
    name: 'setSecret',
    verb: 'vault.set',
    summary: 'Sets or replaces the value of a secret',
    about: 'An Idempotency-Key has no effect here: nothing derived from a value is kept outside the vault.',
    params: ofSecret,
    keyKeptBy: 'nobody',
    body: z.strictObject({ value: Text.max(32 * 1024), about: Text.max(500).optional() }),
    answer: SecretInfo,
    handle: ({ runtime, params, body: { value, about } }) => runtime.vault.set(params.secret, value, { about }),
  }),
  defineRoute({
    method: 'DELETE',
    path: '/v1/secrets/{secret}',
    name: 'removeSecret',
    verb: 'vault.remove',
    summary: 'Removes a secret; its value is no longer redacted',
    params: ofSecret,
    handle: ({ runtime, params }) => runtime.vault.remove(params.secret),
  }),
  defineRoute({
    method: 'POST',
    path: '/v1/secrets/rotate',
    name: 'rotateDataKey',
    verb: 'vault.rotate',
    summary: 'Creates a new data key and seals every secret with it',
    body: nothing,
    answer: ResealedView,
    handle: ({ runtime }) => runtime.vault.rotate(),
  }),
];
