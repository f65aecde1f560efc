import type { PayloadOf } from '../../schema/event.ts';
import type { Json } from '../../schema/json.ts';
import { recallKey } from '../context/recall.ts';
import { ShownText } from '../engine/previews.ts';
import { newArtifact } from '../files/new-artifact.ts';
import { insideCall, outsideCall } from '../host/current-call.ts';
import type { ToolContext } from '../ports/tool.ts';
import { asJson } from '../session/events/as-json.ts';
import type { SessionFold } from '../session/fold.ts';
import type { Redactor } from '../session/redaction/redact.ts';
import { delegate } from './delegate.ts';
import type { RunContext } from './run-context.ts';
import { type ReadyCall, waitsForChild } from './run-tool.ts';

/** The context that a tool receives for a call, and what the tool stored through it. */
export class CallScope {
  readonly #run: RunContext;
  readonly #fold: SessionFold;
  readonly #call: ReadyCall;
  readonly #leaving = new AbortController();
  readonly #secrets: ToolContext['secrets'];
  readonly #redactor: Redactor;
  readonly #shown: ShownText<'progress'>;
  keeps: Json | undefined;
  /** Whether the tool has recalled a part of the session. */
  hasRecalled = false;
  readonly artifacts: PayloadOf<'artifact.kept'>[] = [];

  private constructor(
    run: RunContext,
    fold: SessionFold,
    call: ReadyCall,
    { secrets, redactor }: { readonly secrets: ToolContext['secrets']; readonly redactor: Redactor },
  ) {
    this.#run = run;
    this.#fold = fold;
    this.#call = call;
    this.#secrets = secrets;
    this.#redactor = redactor;
    this.#shown = new ShownText(redactor, (type, text) => run.preview({ type, callId: call.callId, text }));
  }

  /** Fails with SECRET_NOT_FOUND if a secret that the tool names does not exist. */
  static async open(run: RunContext, fold: SessionFold, call: ReadyCall): Promise<CallScope> {
    const secrets = await run.scope.secrets.valuesOf(call.tool.secrets);
    // Read after the values, so that the redactor knows every secret that the tool receives.
    return new CallScope(run, fold, call, { secrets, redactor: await run.scope.secrets.redactor() });
  }

  /** Runs code of the tool, whose stray rejections are then reported with this call. */
  inside<T>(work: () => T): T {
    const { writer, run } = this.#run;
    const { tool, callId } = this.#call;
    const redact = (text: string): string => this.#redactor.text(text);
    return insideCall({ ...writer.key, run, callId, tool: tool.name, redact }, work);
  }

  /** Shows the progress text that was held back. */
  end(): void {
    this.#shown.end();
  }

  /** The function that leaves a call while its child waits. Only a call that may run again can be left. */
  get #leave(): (() => void) | undefined {
    return this.#call.tool.effects === 'once' ? undefined : () => this.#leaving.abort(waitsForChild);
  }

  context(attempt: number): ToolContext {
    const { scope, writer, run, files } = this.#run;
    const { tool, callId } = this.#call;
    return {
      ...writer.key,
      run,
      callId,
      idempotencyKey: `${writer.key.session}/${run}/${callId}`,
      attempt,
      signal: AbortSignal.any([this.#run.signal, this.#leaving.signal]),
      secrets: this.#secrets,
      folder: files.place.folder,
      temporary: files.place.temporary,
      state: this.#fold.state,
      kept: this.#fold.kept[tool.name],
      keep: (value) => {
        this.keeps = asJson(value);
      },
      keepArtifact: async (name, content, about) => {
        const access = { blobs: scope.blobs, redactor: this.#redactor };
        this.artifacts.push(await outsideCall(() => newArtifact(access, name, content, about)));
      },
      progress: (text) => this.#shown.push('progress', text),
      recall: (key) => {
        this.hasRecalled = true;
        return outsideCall(() => recallKey(scope, writer.key, key));
      },
      delegate: (agent, task) => outsideCall(() => delegate(this.#run, callId, agent, task, this.#leave)),
    };
  }
}
