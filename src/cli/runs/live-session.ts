import { setTimeout as sleep } from 'node:timers/promises';
import { pause } from '../../concurrency/pause.ts';
import type { ScopedRuntime } from '../../core/runtime/scoped-runtime.ts';
import type { Session } from '../../core/runtime/session.ts';
import { isPerdureError } from '../../schema/error.ts';
import type { SessionEvent } from '../../schema/event.ts';
import { type FollowedRun, followRun, newlyFollowed } from '../../schema/follow-run.ts';
import type { RunId } from '../../schema/ids.ts';
import { holdsAgentOf } from '../config/choose-agent.ts';
import type { Context, Interrupt } from '../parse/command.ts';
import type { Ending } from '../parse/exit-codes.ts';
import { printable, printableJson } from '../terminal/printable.ts';
import { type Ask, askOf } from './ask-person.ts';
import { LivePrinter } from './live-printer.ts';
import { nextSteps } from './next-steps.ts';
import type { Person } from './person.ts';
import type { Runs } from './read-runs.ts';
import { foldView, type Rest, type RunsView, restOf } from './runs-view.ts';
import { workerShortage } from './worker-shortage.ts';
import { workingRoot } from './working-root.ts';

type Worker = ReturnType<ScopedRuntime['worker']>;

export interface LiveOptions {
  readonly session: Session;
  readonly runs: Runs;
  /** Only events after this seq are shown. */
  readonly after: number;
  /** The run to wait for. Without it, the session is followed until nothing is left to do. */
  readonly target?: RunId | undefined;
  readonly person?: Person | undefined;
  /** Text that the person has just typed, which is not shown again. */
  readonly typed?: string | undefined;
  /** Replaces the default output. `view` is the state of the runs after the event. */
  readonly show?: ((event: SessionEvent, view: RunsView) => Promise<void>) | undefined;
  /** Makes this a conversation: receives each typed line, and undefined at the end of the input. */
  readonly talk?: ((line: string | undefined, live: LiveSession) => Promise<void>) | undefined;
}

const cancelWithinMs = 1500;
const pollMs = 1000;
const untakenMs = 2000;
const prompts = { idle: 'you: ', busy: 'steer: ' };
const elsewhere =
  'its agent is not in this configuration: the run is shown here, and goes on where a worker has that agent';

const endingOf = (rest: Rest): Ending => {
  if (rest.kind !== 'ended') return 'waiting';
  const endings = { succeeded: 'success', failed: 'failure', cancelled: 'cancelled' } as const;
  return rest.end ? endings[rest.end.status] : 'success';
};

/**
 * Shows a session live, works on it while no other process does, and asks the person at the terminal. When it ends,
 * another process continues the runs in progress.
 */
export class LiveSession {
  readonly printer: LivePrinter;
  readonly #context: Context;
  readonly #options: LiveOptions;
  readonly #leaving = new AbortController();
  #target: FollowedRun | undefined;
  #worker: Worker | undefined;
  /** The session that the worker claims: this session, or the parent that waits for it. */
  #root: Session;
  #view: RunsView;
  #ending: Ending | undefined;
  /** Until this run appears in the log, the session is not treated as resting. */
  #expected: RunId | undefined;
  readonly #admitted = new Set<RunId>();
  #asking: Ask | undefined;
  /** The reason for resting for which the next steps were already shown. */
  #announced: Rest['kind'] | undefined;
  /** The run whose pieces are shown. */
  #shownRun: RunId | undefined;
  #rested = Promise.withResolvers<void>();
  #isDetached = false;
  #isCancelling = false;
  #hasSent = false;
  /** Whether the reason why no worker claims the run was already shown. */
  #isUntakenReported = false;

  constructor(context: Context, options: LiveOptions) {
    this.#context = context;
    this.#options = options;
    this.#view = options.runs.view;
    this.#root = options.session;
    this.#target = options.target && newlyFollowed(options.target);
    this.printer = new LivePrinter(context, options.person, (run) => !this.#target || this.#target.answeredBy === run);
    if (options.typed !== undefined) this.printer.hide(options.typed);
  }

  get isBusy(): boolean {
    return this.#view.run !== undefined || this.#view.queue.length > 0;
  }

  /** Makes the session wait for this run. The log may already contain it when this is called. */
  expect(run: RunId): void {
    this.#hasSent = true;
    if (!this.#admitted.has(run)) this.#expected = run;
    if (this.#expected === run || !restOf(this.#view)) this.#rested = Promise.withResolvers<void>();
  }

  leave(how: Ending = this.#ownEnding): void {
    this.#ending ??= how;
    this.#leaving.abort();
  }

  async promptAgain(): Promise<void> {
    await this.printer.settled;
    const { person, talk } = this.#options;
    if (this.#asking) person?.prompt(this.#asking.prompt);
    else if (talk) person?.prompt(restOf(this.#view) ? prompts.idle : prompts.busy);
  }

  async follow(): Promise<Ending> {
    const { session, runs, after } = this.#options;
    const release = this.#listen();
    try {
      await this.#startWorker();
      if (!this.#worker) void this.#watchQueue().catch((error) => this.#leaving.abort(error));
      if (runs.view.run) this.#showPieces(runs.view.run.id, runs.seq);
      if (after >= runs.seq) await this.#judge();
      for await (const event of session.events({ after, follow: true, signal: this.#leaving.signal })) {
        await this.#see(event);
        if (this.#leaving.signal.aborted) break;
      }
      const { reason } = this.#leaving.signal;
      if (!(reason instanceof DOMException)) throw reason;
      await this.printer.settled;
      return this.#ending ?? 'detached';
    } finally {
      this.#leaving.abort();
      release();
      await this.#detach();
      await this.#worker?.stop();
    }
  }

  #listen(): () => void {
    const { person, talk } = this.#options;
    const interrupt = (how: Interrupt): void => {
      void this.#interrupt(how).catch((error) => this.#leaving.abort(error));
    };
    const release = this.#context.onInterrupt(interrupt);
    if (person) {
      person.onInterrupt(() => interrupt('interrupt'));
      person.onTyping(() => {
        if (!talk) return;
        this.printer.breakNow();
        person.prompt(prompts.busy);
      });
      void this.#converse(person).catch((error) => this.#leaving.abort(error));
    }
    return release;
  }

  /** Shows the pieces that a run streams: its answers and its progress. */
  #showPieces(id: RunId, after: number): void {
    if (this.#context.json || this.#options.show || this.#shownRun === id) return;
    this.#shownRun = id;
    const show = async (): Promise<void> => {
      const run = await this.#options.session.run(id);
      for await (const part of run.stream({ after, signal: this.#leaving.signal })) this.printer.piece(part);
    };
    show().catch(() => undefined); // a missed piece is shown when its event arrives
  }

  async #startWorker(): Promise<void> {
    if (this.#context.server !== undefined) return; // the server has its own workers
    this.#root = await workingRoot(this.#context, this.#options.session);
    if (holdsAgentOf(await this.#context.config(), await this.#root.summary())) {
      this.#worker = (await this.#context.runtime()).worker({ session: this.#root.id, pollMs });
      await this.#worker.start();
    } else if (!restOf(this.#view)) this.printer.note(elsewhere, 'yellow');
  }

  /**
   * The ending of the command. A person at a terminal has seen how the run ended; a script gets the exit code of the
   * last run.
   */
  get #ownEnding(): Ending {
    const rest = this.#hasSent && !this.#options.person?.isTerminal ? restOf(this.#view) : undefined;
    return rest ? endingOf(rest) : 'success';
  }

  /** The run that should begin next, if no run is in progress. */
  get #untaken(): RunId | undefined {
    return this.#view.run || restOf(this.#view) ? undefined : this.#view.queue[0]?.run;
  }

  async #watchQueue(): Promise<void> {
    for (;;) {
      const waiting = this.#untaken;
      await sleep(untakenMs, undefined, { signal: this.#leaving.signal });
      if (!waiting || this.#untaken !== waiting) continue;
      const why = await workerShortage(this.#context, this.#options.session);
      if (!why || this.#untaken !== waiting) continue;
      this.#isUntakenReported = true;
      return this.printer.note(why.text, 'yellow');
    }
  }

  /** Hands the remaining work to another process. */
  async #detach(): Promise<void> {
    const rest = restOf(this.#view);
    const isDone = rest && (rest.kind !== 'ended' || this.#root === this.#options.session);
    if (this.#isDetached || isDone) return;
    this.#isDetached = true;
    if (!this.#worker) return;
    await this.#worker.stop();
    this.#context.startWorker(this.#root);
  }

  async #interrupt(how: Interrupt): Promise<void> {
    const { session, talk } = this.#options;
    const rest = restOf(this.#view);
    if (rest) return this.leave(talk ? 'success' : endingOf(rest));
    if (this.#isDetached) return how === 'interrupt' ? this.#cancel() : this.leave('detached');
    await this.#detach();
    await this.#reportLeft();
    this.printer.note(`  ${this.#context.commandText(talk ? 'chat' : 'attach', session.id)}`);
    if (how === 'leave') return this.leave('detached');
    this.printer.note('Ctrl-C again cancels it');
    await pause(cancelWithinMs, { signal: this.#leaving.signal });
    if (!this.#isCancelling) this.leave('detached');
  }

  /** Says what happens to the run after this process has left it. */
  async #reportLeft(): Promise<void> {
    const isUntaken = !this.#worker && this.#untaken !== undefined;
    const why = isUntaken ? await workerShortage(this.#context, this.#options.session) : undefined;
    if (why && !this.#isUntakenReported) this.printer.note(why.text, 'yellow');
    const left = why ? 'the input is stored and waits for a worker' : 'the run goes on without this terminal';
    this.printer.note(`${left}; to come back:`);
  }

  async #cancel(): Promise<void> {
    const { session, talk } = this.#options;
    this.#isCancelling = true;
    await session.cancel(this.#target?.answeredBy).catch(() => session.cancel());
    if (talk) this.leave('cancelled');
  }

  async #see(event: SessionEvent): Promise<void> {
    const { runs } = this.#options;
    const view = event.seq > runs.seq ? foldView(this.#view, event) : this.#view;
    if (view.run) this.#showPieces(view.run.id, event.seq);
    await this.#show(event, view);
    this.#view = view;
    if (event.type === 'input.admitted') this.#admitted.add(event.payload.run);
    if (this.#expected && this.#admitted.has(this.#expected)) this.#expected = undefined;
    this.#target &&= followRun(this.#target, event);
    if (this.#target?.end || event.seq >= runs.seq) await this.#judge();
  }

  async #show(event: SessionEvent, view: RunsView): Promise<void> {
    if (this.#options.show) return this.#options.show(event, view);
    if (this.#context.json) return this.#context.out.write(`${printableJson(event)}\n`);
    this.printer.event(event);
    return this.printer.settled;
  }

  async #judge(): Promise<void> {
    if (this.#expected !== undefined) return;
    const end = this.#target?.end;
    const rest = end ? ({ kind: 'ended', end } as const) : restOf(this.#view);
    if (rest) return this.#atRest(rest);
    this.#asking = undefined;
    this.#announced = undefined;
  }

  async #atRest(rest: Rest): Promise<void> {
    const { person, talk } = this.#options;
    this.#rested.resolve();
    const canAsk = rest.kind === 'waiting' && (talk || person?.isTerminal);
    this.#asking = canAsk ? askOf(this.#view) : undefined;
    const kind = this.#view.status === 'paused' ? 'paused' : rest.kind;
    const hasNothingToSay = this.#asking || this.#announced === kind || (talk && kind === 'ended');
    if (!hasNothingToSay) this.#showNextSteps(rest);
    this.#announced = kind;
    if (this.#asking || talk) return this.promptAgain();
    this.leave(endingOf(rest));
  }

  #showNextSteps(rest: Rest): void {
    if (this.#context.json) return;
    for (const step of nextSteps(this.#context, this.#options.session, this.#view, rest)) this.printer.note(step);
  }

  async #converse(person: Person): Promise<void> {
    const { talk } = this.#options;
    while (!this.#leaving.signal.aborted) {
      // A pipe is read at the pace of the session, because its lines were written without seeing the output.
      if (!person.isTerminal) await this.#rested.promise;
      const line = await person.nextLine();
      if (this.#leaving.signal.aborted) return;
      if (line !== undefined && this.#asking) await this.#answer(this.#asking, line);
      else {
        const rest = restOf(this.#view);
        // The input has ended, so no answer can be typed here.
        if (this.#asking && talk && rest) this.#showNextSteps(rest);
        await talk?.(line, this);
      }
      if (line === undefined) return;
    }
  }

  async #answer(ask: Ask, line: string): Promise<void> {
    const problem = await ask.answer(this.#options.session, line).catch((error) => {
      if (isPerdureError(error)) return error.message;
      throw error;
    });
    if (problem === undefined) {
      if (this.#asking === ask) this.#asking = undefined;
      this.#rested = Promise.withResolvers<void>();
      return;
    }
    this.printer.note(printable(problem), 'red');
    await this.promptAgain();
  }
}
