import { createHash } from 'node:crypto';
import { z } from 'zod';
import { listOf } from '../../schema/bounded.ts';
import { PerdureError } from '../../schema/error.ts';
import type { SessionEvent } from '../../schema/event.ts';
import { Text } from '../../schema/json.ts';
import { jsonSteps } from '../../schema/json-steps.ts';
import { parseInput } from '../../schema/parse-input.ts';
import {
  collections,
  hasProvenance,
  type OwnState,
  PatchOperation,
  Pointer,
  Provenance,
  type State,
} from '../../schema/state.ts';
import { execute } from '../engine/execute.ts';
import type { AgentAccess, LogAccess, WriteAccess } from '../engine/scope.ts';
import { eventLoop } from '../ports/event-loop.ts';
import type { SessionKey } from '../ports/store.ts';
import type { CommitCommand } from '../session/decide-commit.ts';
import { decodeEvent } from '../session/events/event-codec.ts';
import { canonical } from '../session/events/input-hash.ts';
import type { SessionFold } from '../session/fold.ts';
import { type CommitRecord, commitRecord } from '../session/state/commit-record.ts';
import { provenanceOf } from '../session/state/provenance.ts';
import { isOfWaiting, type Mutation, stateInvalid, valueAt, waitingIsView } from '../session/state/state-change.ts';

export interface CommitOptions {
  /** The reason for the change, for people. */
  readonly why?: string | undefined;
  /** How reliable the change is. A model can claim at most the provenance of its sources. */
  readonly provenance?: Provenance | undefined;
  /** The events that the change was derived from, by seq: messages, tool results or commits. */
  readonly derivedFrom?: readonly number[] | undefined;
  /**
   * Whether a member or a model derived the change. For `model`, the provenance is the lowest among the events in
   * `derivedFrom`, or else among the inputs of the turn.
   */
  readonly by?: 'member' | 'model' | undefined;
  /**
   * The tag of the state that the change was made for. If the state has changed since, the commit fails with
   * PRECONDITION_FAILED.
   */
  readonly onState?: string | undefined;
}

export const defaultBy = 'member';
const Options = z.strictObject({
  why: Text.max(2000).optional(),
  provenance: Provenance.optional(),
  derivedFrom: listOf(z.int().positive(), { max: 1000 }).optional(),
  by: z.enum(['member', 'model']).default(defaultBy),
  onState: z.string().max(100).optional(),
} satisfies Record<keyof CommitOptions, z.ZodType>);

/**
 * A change of the state: a function that changes a draft, or an RFC 6902 patch. The function is called again if the
 * state has changed meanwhile.
 */
export type Change<Own = OwnState> = Mutation<Own> | readonly PatchOperation[];

const Patch = listOf(PatchOperation, { error: 'expected a function on a draft, or a list of RFC 6902 operations' });

const parseChange = (change: Change): Change =>
  typeof change === 'function' ? change : parseInput('the patch', Patch, change);

const sourcesOf = async (scope: LogAccess, key: SessionKey, seqs: readonly number[] | undefined) => {
  if (!seqs) return undefined;
  return Promise.all(
    seqs.map(async (seq) => {
      const [stored] = await scope.store.read(key, { after: seq - 1, upTo: seq, limit: 1 });
      const provenance = stored && provenanceOf(decodeEvent(key.workspace, stored));
      if (provenance) return { seq, provenance };
      throw new PerdureError(
        'INVALID_INPUT',
        `a change cannot be derived from event ${seq}: name a message, a tool result or a commit`,
        {
          details: { seq },
        },
      );
    }),
  );
};

/** Tags are cached by part, because a part never changes once it is handed out, and most commits change few parts. */
const tags = new WeakMap<object, string>();

function* tagOfPart(part: State[keyof State]): Generator<void, string, void> {
  const known = tags.get(part);
  if (known !== undefined) return known;
  const digest = createHash('sha256');
  for (const piece of jsonSteps(canonical(part))) yield void digest.update(piece);
  const tag = digest.digest('base64url');
  tags.set(part, tag);
  return tag;
}

const parts = [...collections, 'own'] as const;

function* tagSteps(state: State): Generator<void, string, void> {
  const digest = createHash('sha256');
  for (const name of parts) digest.update(`${name}:${yield* tagOfPart(state[name])};`);
  return digest.digest('base64url');
}

/**
 * A hash of the content of a state, without `waiting`. Equal states have equal tags, whatever commits are between them.
 */
export const stateTag = (state: State): Promise<string> => eventLoop.drain(tagSteps(state));

const stateMoved = ({ session }: SessionKey): PerdureError =>
  new PerdureError('PRECONDITION_FAILED', 'the state has changed since it was read: read it again', {
    details: { session },
  });

const run = async (
  scope: WriteAccess & AgentAccess,
  key: SessionKey,
  asked: Omit<CommitCommand, 'type' | 'agents'>,
  onState?: string | undefined,
) => {
  const command = { ...asked, type: 'commit', agents: scope.agents } as const;
  const onlyThere = async ({ state }: SessionFold) => {
    if ((await stateTag(state)) !== onState) throw stateMoved(key);
    return command;
  };
  const [event] = await execute(scope, key, onState === undefined ? command : onlyThere);
  return event && commitRecord(event as SessionEvent<'state.committed'>);
};

/**
 * Changes the typed state. Returns undefined if nothing changed. Validates the new state before the append, so that an
 * invalid change has no effect.
 */
export const commitState = async (
  scope: WriteAccess & AgentAccess,
  key: SessionKey,
  change: Change,
  input: CommitOptions = {},
): Promise<CommitRecord | undefined> => {
  const { why, provenance, derivedFrom, by, onState } = parseInput('the commit', Options, input);
  const command = {
    change: parseChange(change),
    why,
    provenance,
    by,
    derivedFrom: await sourcesOf(scope, key, derivedFrom),
  };
  return run(scope, key, command, onState);
};

const Lift = z.strictObject({ to: Provenance, why: Text.min(1).max(2000) });

/** Raises the provenance of entries with a commit that changes no value. */
export const liftProvenance = async (
  scope: WriteAccess & AgentAccess,
  key: SessionKey,
  path: string | readonly string[],
  input: z.input<typeof Lift>,
): Promise<CommitRecord> => {
  const { to, why } = parseInput('the lift', Lift, input);
  const paths = parseInput('the paths', listOf(Pointer, { min: 1 }), typeof path === 'string' ? [path] : path);
  const { state } = await scope.folds.head(key);
  const missing = paths.filter((each) => each.split('/').length !== 3 || valueAt(state, each) === undefined);
  if (missing.length > 0) {
    throw stateInvalid(
      missing.map((each) => ({
        path: each,
        message: isOfWaiting(each) ? waitingIsView : 'there is no such entry: name one such as /facts/port',
      })),
    );
  }
  const counted = paths.filter((each) => !hasProvenance(each));
  if (counted.length > 0) {
    throw stateInvalid(counted.map((each) => ({ path: each, message: 'it is bookkeeping, which has no provenance' })));
  }
  const tests = (current: typeof state) =>
    paths.map((each) => ({ op: 'test', path: each, value: valueAt(current, each) }) as const);
  const change = tests(state) as readonly PatchOperation[];
  return (await run(scope, key, { change, why, provenance: to, by: 'member', origin: { kind: 'lift', paths } }))!;
};
