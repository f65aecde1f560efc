import type { PayloadOf } from '../../schema/event.ts';
import type { Json } from '../../schema/json.ts';
import { newArtifact } from '../files/new-artifact.ts';
import type { ToolContext } from '../ports/tool.ts';
import { recallKey } from '../service/recall.ts';
import { asJson } from '../session/as-json.ts';
import type { SessionFold } from '../session/fold.ts';
import { delegate } from './delegate.ts';
import type { RunContext } from './run-context.ts';
import { type ReadyCall, waitsForChild } from './run-tool.ts';

/** What a tool is given for a call, and what it kept there for the next. */
export class CallScope {
  readonly #run: RunContext;
  readonly #fold: SessionFold;
  readonly #call: ReadyCall;
  readonly #leaving = new AbortController();
  keeps: Json | undefined;
  readonly artifacts: PayloadOf<'artifact.kept'>[] = [];

  constructor(run: RunContext, fold: SessionFold, call: ReadyCall) {
    this.#run = run;
    this.#fold = fold;
    this.#call = call;
  }

  /** Only what may run again can be left. */
  get #leave(): (() => void) | undefined {
    return this.#call.tool.effects === 'once' ? undefined : () => this.#leaving.abort(waitsForChild);
  }

  context(attempt: number): ToolContext {
    const { scope, writer, run, files, preview } = this.#run;
    const { tool, callId } = this.#call;
    return {
      ...writer.key,
      run,
      callId,
      idempotencyKey: `${writer.key.session}/${run}/${callId}`,
      attempt,
      signal: AbortSignal.any([this.#run.signal, this.#leaving.signal]),
      folder: files.place.folder,
      temporary: files.place.temporary,
      state: this.#fold.state,
      kept: this.#fold.kept[tool.name],
      keep: (value) => {
        this.keeps = asJson(value);
      },
      keepArtifact: async (name, content, about) => {
        this.artifacts.push(await newArtifact(scope.blobs, name, content, about));
      },
      progress: (text) => preview({ type: 'progress', callId, text }),
      recall: (key) => recallKey(scope, writer.key, key),
      delegate: (agent, task) => delegate(this.#run, callId, agent, task, this.#leave),
    };
  }
}
