import { z } from 'zod';
import { Description, type Priority } from '../../schema/description.ts';
import { PerdureError } from '../../schema/error.ts';
import { newId, SessionId } from '../../schema/ids.ts';
import type { Metadata } from '../../schema/json.ts';
import { Limits } from '../../schema/run.ts';
import { appendDrafts } from '../engine/append-drafts.ts';
import { FilesOption, openedFiles } from '../engine/open-files.ts';
import { keyOf, type Scope } from '../engine/scope.ts';
import { type Agent, isAgent } from '../session/agent.ts';
import { decideOpen, type Opening } from '../session/decide-open.ts';
import { parseInput } from '../session/events/event-codec.ts';

export interface OpenOptions<A extends Agent = Agent> {
  /** The agent that answers inputs: what `defineAgent` gave. Without one, a loop of your own appends the messages. */
  readonly agent?: A | undefined;
  /** A title for people; up to 500 characters. */
  readonly title?: string | undefined;
  /** Values of your own, by name. */
  readonly metadata?: Metadata | undefined;
  /** Which sessions of the workspace are worked on first: `low`, `normal` or `high`. */
  readonly priority?: Priority | undefined;
  /** What the session may use in all. Without it, what its agent says. */
  readonly budget?: Limits | undefined;
  /** The files it begins with: `{ from: FOLDER }` copies a folder, `{ git: REPOSITORY, ref? }` clones a repository, `{ cwd: FOLDER }` works in the folder itself. Without it, none. */
  readonly files?: FilesOption | undefined;
  /** Another session, whose facts, decisions, plan and progress it begins with, without the transcript. */
  readonly carryFrom?: { readonly id: SessionId } | SessionId | undefined;
}

const Options = Description.extend({
  agent: z.custom<Agent>(isAgent, 'expected what defineAgent gives').optional(),
  budget: Limits.optional(),
  files: FilesOption.optional(),
  carryFrom: z
    .union([SessionId, z.looseObject({ id: SessionId })], { error: 'expected a session or its id' })
    .optional(),
} satisfies Record<Exclude<keyof OpenOptions, keyof Description>, z.ZodType>);

/** The session that opens another for a call of its own. */
type SessionCaller = Required<Pick<Opening, 'calledBy' | 'filesOf'>>;

export const openSession = async (scope: Scope, input: OpenOptions, caller?: SessionCaller): Promise<SessionId> => {
  const { agent, carryFrom, files, ...about } = parseInput('the session', Options, input);
  const key = keyOf(scope, newId('ses', scope.clock.now()));
  if (agent?.model !== undefined) await scope.models(agent.model);
  const source = typeof carryFrom === 'object' ? carryFrom.id : carryFrom;
  const carry = source && (await scope.folds.head(keyOf(scope, source)));
  const opening = { ...about, agent, carry, ...caller };
  const opened = decideOpen(opening, scope.actor, await scope.secrets.redactor());
  const drafts = [...opened, ...(files ? await openedFiles(scope, key, files) : [])];
  const written = await appendDrafts(scope, key, drafts, { writer: { kind: 'outside' }, creates: {} });
  if (!('events' in written)) {
    throw new PerdureError('SESSION_EXISTS', `${key.session} exists already: open again`, { details: { ...key } });
  }
  scope.folds.advance(key, undefined, { ...written, bytes: 0 });
  return key.session;
};
