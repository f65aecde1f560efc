import { nameOf } from '../config/choose-agent.ts';
import type { Named } from '../names/find-id.ts';
import type { Context } from '../parse/command.ts';
import { truncate } from '../terminal/display-width.ts';
import { messageGist } from './event-gist.ts';
import { sessionName } from './session-name.ts';
import { shellWord } from './wrap-command.ts';

const maxListed = 50;
const maxTurns = 20;
const maxPaths = 1000;
const maxAbout = 60;

const sessionsOf = async (context: Context): Promise<readonly Named[]> =>
  (await (await context.sessions()).list({ limit: maxListed })).sessions.map((each) => ({
    id: each.id,
    about: sessionName(each),
  }));

/** The newest turns first, each with the beginning of its first message. */
const turnsOf = async (context: Context, session: string | undefined): Promise<readonly Named[]> => {
  if (session === undefined) return [];
  const { entries } = await (await context.session(session)).transcript({ lastTurns: maxTurns });
  const first = new Map(entries.toReversed().map(({ turn, message }) => [turn, message]));
  return [...first].map(([turn, message]) => ({ id: String(turn), about: truncate(messageGist(message), maxAbout) }));
};

/** Only paths that need no quoting in a shell. */
const pathsOf = async (context: Context, session: string | undefined): Promise<readonly Named[]> => {
  if (session === undefined) return [];
  const paths = (await (await context.session(session)).files.list()).map(({ path }) => path);
  return paths
    .filter((path) => shellWord(path) === path)
    .slice(0, maxPaths)
    .map((id) => ({ id }));
};

/**
 * Completion candidates with descriptions. Sessions are limited to the newest; turns and paths belong to one session.
 */
export const listings = {
  sessions: sessionsOf,
  turns: turnsOf,
  places: async (context, session) => [...(await turnsOf(context, session)), ...(await sessionsOf(context))],
  paths: pathsOf,
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
} as const satisfies Record<string, (context: Context, session?: string) => Promise<readonly Named[]>>;

export type Listing = keyof typeof listings;
