import type { Context } from './command.ts';
import { nameOf } from './config/choose-agent.ts';
import type { Named } from './find-id.ts';

const maxListed = 50;

/** What can be named, with what helps to tell them apart; of sessions the newest alone. */
export const listings = {
  sessions: async (context) =>
    (await (await context.sessions()).list({ limit: maxListed })).sessions.map(({ id, title }) => ({
      id,
      about: title,
    })),
  approvals: async (context) =>
    (await (await context.runtime()).approvals.list()).map(({ id, summary }) => ({ id, about: summary })),
  agents: async (context) => (await context.config()).agents.map((agent) => ({ id: agent.name, about: nameOf(agent) })),
  members: async (context) =>
    (await (await context.runtime()).members.list()).map(({ id, role }) => ({ id, about: role })),
  keys: async (context) =>
    (await (await context.runtime()).keys.list()).map(({ id, member, name }) => ({ id, about: name ?? member })),
  webhooks: async (context) =>
    (await (await context.runtime()).webhooks.list()).map(({ id, url }) => ({ id, about: url })),
  secrets: async (context) =>
    (await (await context.runtime()).vault.list()).map(({ name, about }) => ({ id: name, about })),
  workspaces: async (context) => (await (await context.workspaces()).list()).map(({ id }) => ({ id })),
} as const satisfies Record<string, (context: Context) => Promise<readonly Named[]>>;

export type Listing = keyof typeof listings;
