import type { Audit } from '../core/access/audit.ts';
import type { Keys } from '../core/access/keys.ts';
import type { Members } from '../core/access/members.ts';
import type { Quotas } from '../core/access/quotas.ts';
import type { Approvals } from '../core/runs/approvals.ts';
import type { Vault } from '../core/vault/vault.ts';
import type { Webhooks } from '../core/webhooks/webhooks.ts';
import type { SessionId } from '../schema/ids.ts';
import { path } from './address.ts';
import type { Listed } from './listed.ts';
import { freshKey, type Transport } from './transport.ts';

export const approvalsAfar = (transport: Transport): Approvals => {
  const settle = async (to: string, body: unknown): Promise<SessionId> => {
    const asked = { method: 'POST', body, idempotencyKey: freshKey() } as const;
    return (await transport.json<{ readonly session: SessionId }>(to, asked)).session;
  };
  return {
    list: async () => (await transport.json<Listed<'approvals', Approvals['list']>>('/v1/approvals')).approvals,
    handoffs: async () => (await transport.json<Listed<'handoffs', Approvals['handoffs']>>('/v1/approvals')).handoffs,
    approve: (id, options = {}) => settle(path`/v1/approvals/${id}/approve`, options),
    deny: (id, options = {}) => settle(path`/v1/approvals/${id}/deny`, options),
  };
};

export const membersAfar = (transport: Transport): Members => ({
  me: () => transport.json('/v1/me'),
  list: async () => (await transport.json<Listed<'members', Members['list']>>('/v1/members')).members,
  add: (member) => transport.json('/v1/members', { method: 'POST', body: member, idempotencyKey: freshKey() }),
  change: (id, body) => transport.json(path`/v1/members/${id}`, { method: 'PATCH', body }),
  remove: (id) => transport.done(path`/v1/members/${id}`, { method: 'DELETE' }),
});

export const quotasAfar = (transport: Transport): Quotas => {
  const of = (member: string | undefined): string =>
    member === undefined ? '/v1/quotas/members' : path`/v1/quotas/members/${member}`;
  return {
    mine: () => transport.json('/v1/me/quota'),
    list: () => transport.json('/v1/quotas'),
    set: (limits, { member } = {}) => transport.json(of(member), { method: 'PUT', body: limits }),
    remove: ({ member } = {}) => transport.done(of(member), { method: 'DELETE' }),
  };
};

/**
 * API keys on a server. The server does not store the token that a request creates, so such a request is never
 * retried.
 */
export const keysAfar = (transport: Transport): Keys => ({
  create: (request = {}) => transport.json('/v1/keys', { method: 'POST', body: request }),
  createToken: (request) => transport.json('/v1/tokens', { method: 'POST', body: request }),
  list: async () => (await transport.json<Listed<'keys', Keys['list']>>('/v1/keys')).keys,
  rotate: (id) => transport.json(path`/v1/keys/${id}/rotate`, { method: 'POST', body: {} }),
  revoke: (id) => transport.json(path`/v1/keys/${id}`, { method: 'DELETE' }),
});

export const auditAfar = (transport: Transport): Audit => ({
  list: (query) => transport.json('/v1/audit', { query: { ...query } }),
});

export const vaultAfar = (transport: Transport): Vault => ({
  set: (name, value, options) =>
    transport.json(path`/v1/secrets/${name}`, { method: 'PUT', body: { value, ...options } }),
  list: async () => (await transport.json<Listed<'secrets', Vault['list']>>('/v1/secrets')).secrets,
  remove: (name) => transport.done(path`/v1/secrets/${name}`, { method: 'DELETE' }),
  rotate: () => transport.json('/v1/secrets/rotate', { method: 'POST', body: {}, idempotencyKey: freshKey() }),
});

export const webhooksAfar = (transport: Transport): Webhooks => {
  const post = <T>(to: string): Promise<T> =>
    transport.json<T>(to, { method: 'POST', body: {}, idempotencyKey: freshKey() });
  return {
    add: (request) => transport.json('/v1/webhooks', { method: 'POST', body: request }),
    list: async () => (await transport.json<Listed<'webhooks', Webhooks['list']>>('/v1/webhooks')).webhooks,
    change: (id, body) => transport.json(path`/v1/webhooks/${id}`, { method: 'PATCH', body }),
    remove: (id) => transport.done(path`/v1/webhooks/${id}`, { method: 'DELETE' }),
    rotate: (id) => transport.json(path`/v1/webhooks/${id}/rotate`, { method: 'POST', body: {} }),
    deliveries: (id, query) => transport.json(path`/v1/webhooks/${id}/deliveries`, { query: { ...query } }),
    redeliver: (delivery) => post(path`/v1/deliveries/${delivery}/redeliver`),
    test: (id) => post(path`/v1/webhooks/${id}/test`),
  };
};
