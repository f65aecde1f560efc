import { z } from 'zod';
import { Description, type Priority } from '../../schema/description.ts';
import { PerdureError } from '../../schema/error.ts';
import { newId, SessionId } from '../../schema/ids.ts';
import type { Metadata } from '../../schema/json.ts';
import { isAtLeast } from '../../schema/member-roles.ts';
import { parseInput } from '../../schema/parse-input.ts';
import type { Visibility } from '../../schema/reaches.ts';
import { Limits } from '../../schema/run.ts';
import { type Ownership, Sharing } from '../../schema/sharing.ts';
import { appendDrafts } from '../engine/append-drafts.ts';
import { appendRefusal } from '../engine/append-refusal.ts';
import { FilesOption, openedFiles } from '../engine/open-files.ts';
import { refuseUnoffered } from '../engine/refuse-unoffered.ts';
import {
  type AgentAccess,
  type Caller,
  keyOf,
  type ModelAccess,
  type OutboundAccess,
  type WorktreeAccess,
  type WriteAccess,
} from '../engine/scope.ts';
import { type Agent, isAgent } from '../session/agent.ts';
import { decideOpen, type Opening } from '../session/decide-open.ts';
import { lowerLimits } from '../session/runs/budget.ts';
import { requireModel } from './require-model.ts';

/** A session or its id. */
type CarrySource = { readonly id: SessionId } | SessionId;
/** The session to carry over from, and whether its files come too. */
export type CarryOption = CarrySource | { readonly session: CarrySource; readonly files?: boolean | undefined };

export interface OpenOptions<A extends Agent = Agent> {
  /** The agent that answers inputs, made by `defineAgent`. Without one, your own loop appends the messages. */
  readonly agent?: A | undefined;
  /** A title for people, up to 500 characters. */
  readonly title?: string | undefined;
  /** Your own values, by name. */
  readonly metadata?: Metadata | undefined;
  /** The priority with which workers claim this session among the workspace's sessions: `low`, `normal` or `high`. */
  readonly priority?: Priority | undefined;
  /**
   * Limits on the total usage of the session. Default: those of its agent. Only approvers and admins of the reach
   * `workspace` raise these; for other callers, the lower of each limit applies.
   */
  readonly budget?: Limits | undefined;
  /**
   * The files to start with: `{ from: FOLDER }` copies a folder, `{ git: REPOSITORY, ref? }` clones a repository, and
   * `{ cwd: FOLDER }` works in the folder itself. Default: none.
   */
  readonly files?: FilesOption | undefined;
  /**
   * Another session, whose facts, decisions, plan, progress, open actions and artifacts the new session starts with,
   * without the transcript. `{ session, files: true }` carries its files too.
   */
  readonly carryFrom?: CarryOption | undefined;
  /**
   * Who sees the session besides its owner, the member that opens it: the `workspace`, which is the default, or nobody
   * (`private`).
   */
  readonly visibility?: Visibility | undefined;
  /** The members that the session is shared with by name, 100 at most. */
  readonly sharedWith?: readonly string[] | undefined;
}

const Source = z.union([SessionId, z.looseObject({ id: SessionId }).transform(({ id }) => id)]);
const CarryFrom = z.union(
  [
    Source.transform((session) => ({ session, files: false })),
    z.strictObject({ session: Source, files: z.boolean().default(false) }),
  ],
  { error: 'expected a session or its id, or { session, files }' },
);

const Options = Description.extend({
  ...Sharing.shape,
  agent: z.custom<Agent>(isAgent, 'expected an agent made by defineAgent').optional(),
  budget: Limits.optional(),
  files: FilesOption.optional(),
  carryFrom: CarryFrom.optional(),
} satisfies Record<Exclude<keyof OpenOptions, keyof Description>, z.ZodType>);

/** The session whose call opens this session. */
type SessionCaller = Required<Pick<Opening, 'calledBy' | 'filesOf'>> & Ownership;

/** Whether the new session would get the files of another one, which needs a permission of its own. */
export const carriesFiles = (options: OpenOptions | null): boolean =>
  CarryFrom.safeParse(options?.carryFrom).data?.files === true;

const refuseTwoFiles = (): never => {
  throw new PerdureError(
    'INVALID_INPUT',
    'a session starts with carried files or with other files, not with both: leave out `files` or `carryFrom.files`',
  );
};

const budgetFor = (
  { role, reach }: Caller,
  agent: Agent | undefined,
  given: Limits | undefined,
): Limits | undefined => {
  const mayRaise = reach === 'workspace' && isAtLeast(role, 'approver');
  return given && agent?.budget && !mayRaise ? lowerLimits(given, agent.budget) : given;
};

export const openSession = async (
  scope: WriteAccess & WorktreeAccess & OutboundAccess & ModelAccess & AgentAccess,
  input: OpenOptions,
  caller?: SessionCaller,
): Promise<SessionId> => {
  const { agent, carryFrom, files, budget, ...about } = parseInput('the session', Options, input);
  const key = keyOf(scope, newId('ses', scope.clock.now()));
  if (agent) refuseUnoffered(scope, agent);
  if (agent) await requireModel(scope, agent);
  if (carryFrom?.files && files) refuseTwoFiles();
  const carry = carryFrom && (await scope.folds.head(keyOf(scope, carryFrom.session)));
  const opening = {
    ...about,
    agent,
    budget: budgetFor(scope.caller, agent, budget),
    carry,
    ...(carryFrom?.files && { filesOf: carry }),
    ...caller,
  };
  const opened = decideOpen(opening, scope.actor, await scope.secrets.redactor());
  const drafts = [...opened, ...(files ? await openedFiles(scope, key, files) : [])];
  const written = await appendDrafts(scope, key, drafts, { writer: { kind: 'outside' }, creates: {} });
  if (!('events' in written)) throw appendRefusal(key, written.outcome);
  scope.folds.advance(key, undefined, { ...written, bytes: 0 });
  return key.session;
};
