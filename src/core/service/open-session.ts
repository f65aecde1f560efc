import { z } from 'zod';
import { Description } from '../../schema/description.ts';
import { PerdureError } from '../../schema/error.ts';
import { newId, SessionId } from '../../schema/ids.ts';
import { Limits } from '../../schema/run.ts';
import { type Agent, isAgent } from '../session/agent.ts';
import { decideOpen, type Opening } from '../session/decide-open.ts';
import { parseInput } from '../session/event-codec.ts';
import { appendDrafts } from './append-drafts.ts';
import { FilesOption, openedFiles } from './open-files.ts';
import { keyOf, type Scope } from './scope.ts';

const Options = Description.extend({
  agent: z.custom<Agent>(isAgent, 'expected what defineAgent gives').optional(),
  /** What it may use in all; by default what its agent says. */
  budget: Limits.optional(),
  /** What its files are at its beginning; none by default. */
  files: FilesOption.optional(),
  /** A session whose facts, decisions, plan and progress it opens with, without the transcript. */
  carryFrom: z
    .union([SessionId, z.looseObject({ id: SessionId })], { error: 'expected a session or its id' })
    .optional(),
});
export interface OpenOptions extends Omit<z.input<typeof Options>, 'carryFrom'> {
  readonly carryFrom?: { readonly id: SessionId } | SessionId | undefined;
}

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
