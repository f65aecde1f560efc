import { z } from 'zod';
import { Description, type Priority } from '../../schema/description.ts';
import { newId, SessionId } from '../../schema/ids.ts';
import type { Metadata } from '../../schema/json.ts';
import { parseInput } from '../../schema/parse-input.ts';
import { Limits } from '../../schema/run.ts';
import { appendDrafts } from '../engine/append-drafts.ts';
import { appendRefusal } from '../engine/append-refusal.ts';
import { FilesOption, openedFiles } from '../engine/open-files.ts';
import { keyOf, type ModelAccess, type WorktreeAccess, type WriteAccess } from '../engine/scope.ts';
import { type Agent, isAgent } from '../session/agent.ts';
import { decideOpen, type Opening } from '../session/decide-open.ts';
import { requireModel } from './require-model.ts';

export interface OpenOptions<A extends Agent = Agent> {
  /** The agent that answers inputs, made by `defineAgent`. Without one, your own loop appends the messages. */
  readonly agent?: A | undefined;
  /** A title for people, up to 500 characters. */
  readonly title?: string | undefined;
  /** Your own values, by name. */
  readonly metadata?: Metadata | undefined;
  /** The priority with which workers claim this session among the workspace's sessions: `low`, `normal` or `high`. */
  readonly priority?: Priority | undefined;
  /** Limits on the total usage of the session. Default: those of its agent. */
  readonly budget?: Limits | undefined;
  /**
   * The files to start with: `{ from: FOLDER }` copies a folder, `{ git: REPOSITORY, ref? }` clones a repository, and
   * `{ cwd: FOLDER }` works in the folder itself. Default: none.
   */
  readonly files?: FilesOption | undefined;
  /**
   * Another session, whose facts, decisions, plan and progress are copied into the new session, without the
   * transcript.
   */
  readonly carryFrom?: { readonly id: SessionId } | SessionId | undefined;
}

const Options = Description.extend({
  agent: z.custom<Agent>(isAgent, 'expected an agent made by defineAgent').optional(),
  budget: Limits.optional(),
  files: FilesOption.optional(),
  carryFrom: z
    .union([SessionId, z.looseObject({ id: SessionId })], { error: 'expected a session or its id' })
    .optional(),
} satisfies Record<Exclude<keyof OpenOptions, keyof Description>, z.ZodType>);

/** The session whose call opens this session. */
type SessionCaller = Required<Pick<Opening, 'calledBy' | 'filesOf'>>;

export const openSession = async (
  scope: WriteAccess & WorktreeAccess & ModelAccess,
  input: OpenOptions,
  caller?: SessionCaller,
): Promise<SessionId> => {
  const { agent, carryFrom, files, ...about } = parseInput('the session', Options, input);
  const key = keyOf(scope, newId('ses', scope.clock.now()));
  if (agent) await requireModel(scope, agent);
  const source = typeof carryFrom === 'object' ? carryFrom.id : carryFrom;
  const carry = source && (await scope.folds.head(keyOf(scope, source)));
  const opening = { ...about, agent, carry, ...caller };
  const opened = decideOpen(opening, scope.actor, await scope.secrets.redactor());
  const drafts = [...opened, ...(files ? await openedFiles(scope, key, files) : [])];
  const written = await appendDrafts(scope, key, drafts, { writer: { kind: 'outside' }, creates: {} });
  if (!('events' in written)) throw appendRefusal(key, written.outcome);
  scope.folds.advance(key, undefined, { ...written, bytes: 0 });
  return key.session;
};
