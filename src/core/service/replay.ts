import { z } from 'zod';
import { PerdureError } from '../../schema/error.ts';
import type { SessionEvent } from '../../schema/event.ts';
import type { SessionId } from '../../schema/ids.ts';
import { placeOf } from '../files/disk/place.ts';
import type { SessionKey } from '../ports/store.ts';
import { Conversation } from '../run/conversation.ts';
import { driveRun } from '../run/drive-run.ts';
import { recordedModel, recordedRun, recordedTools } from '../run/recorded-run.ts';
import { RunFiles } from '../run/run-files.ts';
import { RunWriter } from '../run/run-writer.ts';
import { type Agent, agentName, isAgent } from '../session/agent.ts';
import { beginDrafts } from '../session/begin-run.ts';
import { type Departure, departuresBetween } from '../session/departures.ts';
import { parseInput } from '../session/event-codec.ts';
import { readEvents } from './events.ts';
import { execute } from './execute.ts';
import { forkSession } from './fork.ts';
import { handOver } from './handoff.ts';
import { resolvePoint } from './points.ts';
import { keyOf, type Scope } from './scope.ts';
import { admitInput } from './send.ts';

const Options = z.strictObject({
  turn: z.int().positive(),
  agent: z.custom<Agent>(isAgent, 'expected what defineAgent gives').optional(),
  model: z.unknown().optional(),
  live: z.boolean().default(false),
});

export interface ReplayOptions {
  readonly turn: number;
  /** In place of the agent that the session was bound to: another prompt, other tools. */
  readonly agent?: Agent | undefined;
  /** Asked in place of the recorded answers. */
  readonly model?: unknown;
  /** Runs calls for which nothing was recorded; without it they are told as not run. */
  readonly live?: boolean | undefined;
}

export interface Replay {
  /** The fork in which it was played, for a closer look. Nobody works on it. */
  readonly session: SessionId;
  readonly departures: readonly Departure[];
}

/** Of its own run: inputs that came meanwhile stand in it too, and what became of those that were cancelled before they began. */
const eventsOfTurn = async (scope: Scope, key: SessionKey, turn: number): Promise<readonly SessionEvent[]> => {
  const head = await scope.folds.outline(key);
  const at = await resolvePoint(scope.store, key, head, { turn });
  const [start] = await scope.store.turnStarts(key, { from: turn, limit: 1 });
  const events: SessionEvent[] = [];
  for await (const event of readEvents(scope, key, { after: (start?.seq ?? 1) - 1, at: { seq: at } })) {
    if (event.turn === turn && event.run && event.run === (events[0] ?? event).run) events.push(event);
  }
  return events;
};

const nothingToReplay = (key: SessionKey, turn: number): PerdureError =>
  new PerdureError(
    'POINT_NOT_FOUND',
    `turn ${turn} of ${key.session} was not answered by a run: there is nothing to replay`,
    {
      details: { turn },
    },
  );

const boundAgent = async (scope: Scope, key: SessionKey): Promise<Agent> => {
  const { bound } = await scope.folds.head(key);
  const agent = bound && scope.agents.get(agentName(bound.agent));
  if (agent) return agent;
  throw new PerdureError(
    'AGENT_VERSION_UNAVAILABLE',
    `the agent of ${key.session} is not held by this runtime: pass it to openRuntime({ agents }), or to replay`,
    { details: { ...key } },
  );
};

/** Plays a turn again on a fork, with what was recorded of the model and the tools or with another model or agent, and tells where it departs. */
export const replayTurn = async (scope: Scope, key: SessionKey, options: ReplayOptions): Promise<Replay> => {
  const { turn, agent: otherAgent, model: otherModel, live } = parseInput('the replay', Options, options);
  const events = await eventsOfTurn(scope, key, turn);
  const recorded = recordedRun(events);
  if (!recorded) throw nothingToReplay(key, turn);
  const fork = keyOf(
    scope,
    await forkSession(scope, key, { at: { seq: events[0]!.seq - 1 }, title: `replay of turn ${turn}` }),
  );
  await handOver(scope, fork, { to: 'human', reason: `replays turn ${turn} of ${key.session}` });
  if (otherAgent) await execute(scope, fork, { type: 'bind', agent: otherAgent });
  const agent = otherAgent ?? (await boundAgent(scope, fork));
  const isRecorded = otherModel === undefined;
  const model = isRecorded
    ? recordedModel(recorded, (await scope.models(agent.model)).contextTokens)
    : await scope.models(otherModel);
  if (isRecorded) await execute(scope, fork, { type: 'limit', limits: {}, reason: 'nothing is spent' });
  const asked = (await scope.folds.at(key, events[0]!.seq - 1)).queue.find((input) => input.run === events[0]!.run);
  const { id: run } = await admitInput(scope, fork, contentOf(recorded.input));
  const writer = new RunWriter(scope, fork);
  await writer.claim((fold) => beginDrafts(fold, fold.queue.find((input) => input.run === run)!));
  const tools = recordedTools(agent.tools, recorded, live);
  await driveRun(
    {
      scope: isRecorded ? { ...scope, timing: { ...scope.timing, modelBackoffMs: 0 } } : scope,
      writer,
      conversation: new Conversation(scope, writer),
      run,
      requestedBy: asked?.by ?? scope.actor,
      from: asked?.from,
      agent,
      tools,
      files: new RunFiles({ scope, writer, place: placeOf(scope.data, writer.key), run, tools }, await writer.fold()),
      signal: scope.closing,
      preview: (written) => scope.previews.tell(fork, written),
      isEnding: () => false,
      waitFor: () => ({ [Symbol.dispose]: () => undefined }),
    },
    model,
  );
  const replayed = await Array.fromAsync(readEvents(scope, fork, { after: events[0]!.seq - 1 }));
  return {
    session: fork.session,
    departures: departuresBetween(
      events,
      replayed.filter((event) => event.run === run),
    ),
  };
};

const contentOf = ({ content }: { readonly content: readonly object[] }) => content as Parameters<typeof admitInput>[2];
