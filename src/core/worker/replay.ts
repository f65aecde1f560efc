import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';
import { PerdureError } from '../../schema/error.ts';
import type { SessionEvent } from '../../schema/event.ts';
import type { SessionId } from '../../schema/ids.ts';
import type { Json } from '../../schema/json.ts';
import { parseInput } from '../../schema/parse-input.ts';
import type { Limits } from '../../schema/run.ts';
import { readEvents } from '../engine/events.ts';
import { execute } from '../engine/execute.ts';
import { findPoint } from '../engine/points.ts';
import { refuseUnoffered } from '../engine/refuse-unoffered.ts';
import { findRepeat } from '../engine/repeated-call.ts';
import { RunWriter } from '../engine/run-writer.ts';
import { type AgentAccess, type FollowAccess, keyOf, type LogAccess } from '../engine/scope.ts';
import { placeOf } from '../files/disk/place.ts';
import type { SessionKey } from '../ports/store.ts';
import type { Tool } from '../ports/tool.ts';
import { type CancelAccess, cancelRun } from '../runs/cancel.ts';
import { handOver } from '../runs/handoff.ts';
import { admitInput } from '../runs/send.ts';
import { type Agent, agentName, defaultModelWaitMs, isAgent } from '../session/agent.ts';
import { defaultContextTokens } from '../session/context/context.ts';
import { beginDrafts } from '../session/runs/begin-run.ts';
import { type Departure, departuresBetween } from '../session/runs/departures.ts';
import type { QueuedInput } from '../session/runs/run-fold.ts';
import { heldByTaint } from '../session/runs/taint-gate.ts';
import { RunFiles } from '../session-files/run-files.ts';
import { forkSession } from '../sessions/fork.ts';
import { Conversation } from './conversation.ts';
import { driveRun } from './drive-run.ts';
import { type RecordedRun, recordedModels, recordedRun, recordedTools } from './recorded-run.ts';
import { type RunModels, runModels } from './run-models.ts';
import { toolsOfRun } from './run-tools.ts';
import type { WorkAccess } from './work-access.ts';

const Options = z.strictObject({
  turn: z.int().positive(),
  agent: z.custom<Agent>(isAgent, 'expected an agent made by defineAgent').optional(),
  model: z.unknown().optional(),
  live: z.boolean().default(false),
});

export interface ReplayOptions {
  readonly turn: number;
  /** Replaces the agent that the session is bound to, for example to try another prompt or other tools. */
  readonly agent?: Agent | undefined;
  /** A model to ask instead of using the recorded answers. */
  readonly model?: unknown;
  /**
   * Whether to run calls that have no recorded result. By default such calls are not run, and the model is informed.
   */
  readonly live?: boolean | undefined;
}

export interface Replay {
  /** The fork in which the turn was replayed, for inspection. It is archived. */
  readonly session: SessionId;
  readonly departures: readonly Departure[];
  /** Set if the recording ends before the run does: the run was cancelled there, or is still in progress. */
  readonly upTo?: 'cancelled' | 'under-way' | undefined;
}

/**
 * Returns the events of the turn's own run. The turn also contains inputs that arrived meanwhile, and the ends of runs
 * that were cancelled before they began.
 */
const eventsOfTurn = async (scope: FollowAccess, key: SessionKey, turn: number): Promise<readonly SessionEvent[]> => {
  const at = await findPoint(scope, key, { turn });
  const [start] = await scope.store.turnStarts(key, { from: turn, limit: 1 });
  const events: SessionEvent[] = [];
  for await (const event of readEvents(scope, key, { after: (start?.seq ?? 1) - 1, at: { seq: at } })) {
    if (event.turn === turn && event.run && event.run === (events[0] ?? event).run) events.push(event);
  }
  return events;
};

interface Recording {
  readonly events: readonly SessionEvent[];
  readonly recorded: RecordedRun;
  /** The input that the run answers. It names the member who requested the run. */
  readonly requested: QueuedInput | undefined;
}

const nothingToReplay = (key: SessionKey, turn: number): PerdureError =>
  new PerdureError(
    'POINT_NOT_FOUND',
    `turn ${turn} of ${key.session} was not answered by a run: there is nothing to replay`,
    {
      details: { turn },
    },
  );

const boundAgent = async (scope: LogAccess & AgentAccess, key: SessionKey): Promise<Agent> => {
  const { bound } = await scope.folds.head(key);
  const agent = bound && scope.agents.get(agentName(bound.agent));
  if (agent) return agent;
  throw new PerdureError(
    'AGENT_VERSION_UNAVAILABLE',
    `the agent of ${key.session} is not held by this runtime: pass it to openRuntime({ agents }), or to replay`,
    { details: { ...key } },
  );
};

/** Returns why the recording ends early. Returns undefined if the run ended normally. */
const cutOf = (events: readonly SessionEvent[]): Replay['upTo'] => {
  const end = events.find((event) => event.type === 'run.ended');
  if (!end) return 'under-way';
  return end.payload.status === 'cancelled' ? 'cancelled' : undefined;
};

/**
 * Returns the window of a recorded model. A model that the agent no longer has gets the window of its first one. A
 * recording can be played without the configuration of its models.
 */
const windowsOf = (scope: WorkAccess, agent: Agent) => {
  const { names, open } = runModels(scope, agent);
  return async (name: string): Promise<number> => {
    try {
      return (await open(names.includes(name) ? name : names[0]!)).contextTokens;
    } catch {
      return defaultContextTokens;
    }
  };
};

/** A model that is asked alone, instead of those of the agent. */
const onlyModel = async ({ models }: WorkAccess, given: unknown): Promise<RunModels> => {
  const model = await models(given);
  return { names: [model.name], maxWaitMs: defaultModelWaitMs, open: async () => model };
};

/**
 * Executes the recording in the fork, until the run ends or the recording is used up. Returns the events of the
 * replay.
 */
const play = async (
  scope: WorkAccess,
  fork: SessionKey,
  { events, recorded, requested }: Recording,
  { agent: otherAgent, model: otherModel, live }: z.output<typeof Options>,
) => {
  if (otherAgent) refuseUnoffered(scope, otherAgent);
  if (otherAgent) await execute(scope, fork, { type: 'bind', agent: otherAgent });
  const agent = otherAgent ?? (await boundAgent(scope, fork));
  const isRecorded = otherModel === undefined;
  const over = new AbortController();
  const models = isRecorded
    ? recordedModels(recorded, windowsOf(scope, agent), () => over.abort())
    : await onlyModel(scope, otherModel);
  if (isRecorded) await execute(scope, fork, { type: 'limit', limits: {}, reason: 'a replay spends nothing' });
  const { id: run } = await admitInput(scope, fork, contentOf(recorded.input));
  const writer = new RunWriter(scope, fork);
  await writer.claim((fold) => beginDrafts(fold, fold.queue.find((input) => input.run === run)!));
  const isRepeat = async (tool: string, input: Json): Promise<boolean> =>
    (await findRepeat(scope, fork, await writer.fold(), { tool, input })) !== undefined;
  const isTainted = async (tool: Tool, input: Json, callId: string): Promise<boolean> =>
    heldByTaint(await writer.fold(), agent, { tool, input, callId }) !== undefined;
  const tools = recordedTools(toolsOfRun(agent, scope), recorded, { live, isRepeat, isTainted });
  const driving = driveRun({
    scope: isRecorded ? { ...scope, timing: { ...scope.timing, modelBackoffMs: 0 } } : scope,
    writer,
    conversation: new Conversation(scope, writer),
    run,
    requestedBy: requested?.by ?? scope.actor,
    from: requested?.from,
    agent,
    models,
    tools,
    files: new RunFiles({ scope, writer, place: placeOf(scope.data, writer.key), run, tools }, await writer.fold()),
    signal: AbortSignal.any([scope.closing, over.signal]),
    preview: (written) => scope.previews.tell(fork, written),
    isEnding: () => false,
    waitFor: () => ({ [Symbol.dispose]: () => undefined }),
  });
  await driving.catch((error) => {
    if (!over.signal.aborted) throw error;
  });
  const replayed = await Array.fromAsync(readEvents(scope, fork, { after: events[0]!.seq - 1 }));
  return { replayed: replayed.filter((event) => event.run === run), isOver: over.signal.aborted };
};

/** Closes and archives the fork, so that no worker continues the fork, but it can still be inspected. */
const putAway = async (scope: CancelAccess, fork: SessionKey, limits: Limits): Promise<void> => {
  await cancelRun(scope, fork);
  // A person may open the fork again, and its runs then spend again.
  await execute(scope, fork, async (fold) =>
    isDeepStrictEqual(fold.limits, limits) ? undefined : { type: 'limit', limits, reason: 'the replay is over' },
  );
  await execute(scope, fork, { type: 'close', now: scope.clock.now(), reason: 'the replay is over' });
  await execute(scope, fork, { type: 'archive' });
};

/**
 * Plays a turn again on a fork, with the recorded answers and results or with another model or agent. Reports where
 * the replay differs from the recording.
 */
export const replayTurn = async (scope: WorkAccess, key: SessionKey, input: ReplayOptions): Promise<Replay> => {
  const options = parseInput('the replay', Options, input);
  const { turn } = options;
  const events = await eventsOfTurn(scope, key, turn);
  const recorded = recordedRun(events);
  if (!recorded) throw nothingToReplay(key, turn);
  const at = events[0]!.seq - 1;
  const requested = (await scope.folds.at(key, at)).queue.find(({ run }) => run === events[0]!.run);
  const fork = keyOf(scope, await forkSession(scope, key, { at: { seq: at }, title: `replay of turn ${turn}` }, false));
  const { limits } = await scope.folds.head(fork);
  try {
    const reason = `replays turn ${turn} of ${key.session}`;
    await handOver(scope, fork, { to: 'human', reason }, { replay: true });
    const { replayed, isOver } = await play(scope, fork, { events, recorded, requested }, options);
    const upTo = isOver ? cutOf(events) : undefined;
    const departures = departuresBetween(events, replayed, upTo !== undefined);
    return { session: fork.session, departures, ...(upTo && { upTo }) };
  } finally {
    await putAway(scope, fork, limits);
  }
};

const contentOf = ({ content }: { readonly content: readonly object[] }) => content as Parameters<typeof admitInput>[2];
