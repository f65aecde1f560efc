import type { Actor, RunId, SessionId } from '../../schema/ids.ts';
import type { Requester } from '../../schema/member.ts';
import type { Written } from '../engine/preview.ts';
import type { RunWriter } from '../engine/run-writer.ts';
import type { Tool } from '../ports/tool.ts';
import type { Agent } from '../session/agent.ts';
import type { RunFiles } from '../session-files/run-files.ts';
import type { Conversation } from './conversation.ts';
import type { RunModels } from './run-models.ts';
import type { WorkAccess } from './work-access.ts';

/** A run in progress. Each step of the run receives it. */
export interface RunContext {
  readonly scope: WorkAccess;
  readonly writer: RunWriter;
  readonly conversation: Conversation;
  readonly run: RunId;
  /** The actor that the run works for. */
  readonly requestedBy: Actor;
  readonly from: Requester | undefined;
  readonly agent: Agent;
  readonly models: RunModels;
  readonly tools: ReadonlyMap<string, Tool>;
  readonly files: RunFiles;
  /** Aborts when this worker loses the session or stops. */
  readonly signal: AbortSignal;
  /** Whether the worker is stopping, so that no further step may begin. */
  isEnding(): boolean;
  preview(written: Written): void;
  /**
   * Registers that a call waits for another session, so that this worker executes that session too. The worker calls
   * `leave` when it stops.
   */
  waitFor(session: SessionId, leave?: () => void): Disposable;
}

export const agentActor = ({ agent }: Pick<RunContext, 'agent'>): Actor => `agent:${agent.name}` as Actor;
