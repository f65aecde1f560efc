import type { RunId } from '../../schema/ids.ts';
import type { Tool } from '../ports/tool.ts';
import type { Scope } from '../service/scope.ts';
import type { Agent } from '../session/agent.ts';
import type { Preview } from './previews.ts';
import type { RunWriter } from './run-writer.ts';

/** A run at work: what each of its steps is given. */
export interface RunContext {
  readonly scope: Scope;
  readonly writer: RunWriter;
  readonly run: RunId;
  readonly agent: Agent;
  readonly tools: ReadonlyMap<string, Tool>;
  /** The session's folder. */
  readonly folder: string;
  /** Aborted when the session was taken away from this worker, or the worker stops. */
  readonly signal: AbortSignal;
  preview(preview: Preview): void;
}
