import type { Actor, RunId, SessionId } from '../../schema/ids.ts';
import type { Requester } from '../../schema/member.ts';
import type { Written } from '../engine/preview.ts';
import type { RunWriter } from '../engine/run-writer.ts';
import type { Tool } from '../ports/tool.ts';
import type { Agent } from '../session/agent.ts';
import type { RunFiles } from '../session-files/run-files.ts';
import type { Conversation } from './conversation.ts';
import type { WorkAccess } from './work-access.ts';

/** A run at work: what each of its steps is given. */
export interface RunContext {
  readonly scope: WorkAccess;
  readonly writer: RunWriter;
  readonly conversation: Conversation;
  readonly run: RunId;
  /** Whom it works for. */
  readonly requestedBy: Actor;
  readonly from: Requester | undefined;
  readonly agent: Agent;
  readonly tools: ReadonlyMap<string, Tool>;
  readonly files: RunFiles;
  /** Aborted when the session was taken away from this worker, or the worker stops. */
  readonly signal: AbortSignal;
  /** The worker ends: no further step is begun. */
  isEnding(): boolean;
  preview(written: Written): void;
  /** Told while a call waits for another session, which then is this worker's to work on too. `leave` is called when the worker is to end. */
  waitFor(session: SessionId, leave?: () => void): Disposable;
}

export const agentActor = ({ agent }: Pick<RunContext, 'agent'>): Actor => `agent:${agent.name}` as Actor;
