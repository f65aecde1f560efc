import { setTimeout as sleep } from 'node:timers/promises';
import type { Session } from '../../core/service/session.ts';
import { isPerdureError } from '../../schema/error.ts';
import type { SessionEvent } from '../../schema/event.ts';
import type { MessageId, RunId } from '../../schema/ids.ts';
import type { Context, Interrupt } from '../command.ts';
import { holdsAgentOf } from '../config/choose-agent.ts';
import type { Ending } from '../exit-codes.ts';
import { printable, printableJson } from '../printable.ts';
import { type Ask, askOf } from './ask-person.ts';
import { LivePrinter } from './live-printer.ts';
import { nextSteps } from './next-steps.ts';
import type { Person } from './person.ts';
import type { Runs } from './read-runs.ts';
import { foldView, type Rest, type RunsView, restOf } from './runs-view.ts';

/** What a person who talks to a session can do from outside the loop. */
export interface Conversation {
  readonly printer: LivePrinter;
  view(): RunsView;
  /** Nothing counts as rest before the log tells of this run. */
  expect(run: RunId): void;
  /** Ends the following; what is under way goes on without it. */
  leave(): void;
}

export interface LiveOptions {
  readonly session: Session;
  readonly runs: Runs;
  /** Shown are the events after this one. */
  readonly after: number;
  /** The run whose end is waited for; without it, until nothing is left to do. */
  readonly target?: RunId | undefined;
  readonly person?: Person | undefined;
  /** Text that was just given and need not be shown again. */
  readonly typed?: string | undefined;
  /** Makes it a conversation: each line, and undefined at the end of the input. */
  readonly talk?: ((line: string | undefined, conversation: Conversation) => Promise<void>) | undefined;
}

const cancelWithinMs = 1500;
const talkPrompt = 'you: ';
const steerPrompt = 'steer: ';

const endingOf = (rest: Rest): Ending => {
  if (rest.kind !== 'ended') return 'waiting';
  const endings = { succeeded: 'success', failed: 'failure', cancelled: 'cancelled' } as const;
  return rest.end ? endings[rest.end.status] : 'success';
};

/** Follows the run that an input went to, which is another one where it joined that. */
const targetTracker = (wanted: RunId | undefined) => {
  let run = wanted;
  let message: MessageId | undefined;
  return {
    run: () => run,
    /** Its end, when the event is that. */
    see: (event: SessionEvent): Rest | undefined => {
      if (run === undefined) return undefined;
      if (event.type === 'input.admitted' && event.payload.run === run) message = event.payload.message.id;
      if (event.type === 'message.appended' && event.payload.message.id === message) run = event.run ?? run;
      return event.type === 'run.ended' && event.run === run ? { kind: 'ended', end: event.payload } : undefined;
    },
  };
};

/**
 * Shows a session as it goes on, works on it while nobody else does, and asks whoever sits there. However it is left, what is under way
 * goes on in a process of its own.
 */
export const followLive = async (context: Context, options: LiveOptions): Promise<Ending> => {
  const { session, runs, person, talk } = options;
  const printer = new LivePrinter(context, person);
  if (options.typed !== undefined) printer.hide(options.typed);
  const canWork = holdsAgentOf(await context.config(), await session.summary());
  const worker = canWork ? (await context.runtime()).worker({ session: session.id, pollMs: 1000 }) : undefined;
  const leaving = new AbortController();
  const target = targetTracker(options.target);
  let view = runs.view;
  let ending: Ending | undefined;
  let expected: RunId | undefined;
  let isDetached = false;
  let asking: Ask | undefined;
  let rested = Promise.withResolvers<void>();

  const leave = (how?: Ending): void => {
    ending ??= how;
    leaving.abort();
  };
  const detach = async (): Promise<void> => {
    if (isDetached || !worker || restOf(view)) return;
    isDetached = true;
    await worker.stop();
    context.startWorker(session);
  };
  const comeBack = (): string => context.commandText(talk ? 'chat' : 'attach', session.id);

  const interrupt = async (how: Interrupt): Promise<void> => {
    const rest = restOf(view);
    if (rest) return leave(talk ? 'success' : endingOf(rest));
    const isSecond = isDetached;
    if (isSecond) return void (await session.cancel(target.run()).catch(() => session.cancel()));
    await detach();
    printer.note('the run goes on without this terminal; to come back:');
    printer.note(`  ${comeBack()}`);
    if (how === 'leave') return leave('detached');
    printer.note('Ctrl-C again cancels it');
    await sleep(cancelWithinMs, undefined, { signal: leaving.signal }).catch(() => undefined);
    leave('detached');
  };
  const onInterrupt = (how: Interrupt): void => {
    void interrupt(how).catch((error) => {
      printer.note(printable(String(error)), 'red');
      leave('failure');
    });
  };

  const promptAgain = async (): Promise<void> => {
    await printer.settled;
    if (asking) person?.prompt(asking.prompt);
    else if (talk) person?.prompt(restOf(view) ? talkPrompt : steerPrompt);
  };
  const atRest = async (rest: Rest): Promise<void> => {
    rested.resolve();
    asking = rest.kind === 'waiting' && person && (talk || person.isTerminal) ? askOf(view) : undefined;
    if (asking || talk) return promptAgain();
    for (const step of context.json ? [] : nextSteps(context, session, view, rest)) printer.note(step);
    leave(endingOf(rest));
  };
  const judge = async (end?: Rest): Promise<void> => {
    if (expected !== undefined) return;
    const rest = end ?? restOf(view);
    if (rest) return atRest(rest);
    asking = undefined;
  };

  const show = async (event: SessionEvent): Promise<void> => {
    if (context.json) return context.out.write(`${printableJson(event)}\n`);
    printer.event(event);
    return printer.settled;
  };
  const see = async (event: SessionEvent): Promise<void> => {
    await show(event);
    if (event.seq > runs.seq) view = foldView(view, event);
    if (event.type === 'input.admitted' && event.payload.run === expected) expected = undefined;
    const end = target.see(event);
    if (end || event.seq >= runs.seq) await judge(end);
  };

  const conversation: Conversation = {
    printer,
    view: () => view,
    expect: (run) => {
      expected = run;
      rested = Promise.withResolvers<void>();
    },
    leave: () => leave('success'),
  };
  const answer = async (ask: Ask, line: string): Promise<void> => {
    const problem = await ask.answer(session, line).catch((error) => {
      if (isPerdureError(error)) return error.message;
      throw error;
    });
    if (problem === undefined) {
      if (asking === ask) asking = undefined;
      rested = Promise.withResolvers<void>();
      return;
    }
    printer.note(printable(problem), 'red');
    await promptAgain();
  };
  const converse = async (someone: Person): Promise<void> => {
    while (!leaving.signal.aborted) {
      // A pipe is read at the pace of the session: its lines were not written in view of what happens.
      if (!someone.isTerminal) await rested.promise;
      const line = await someone.nextLine();
      if (leaving.signal.aborted) return;
      if (line !== undefined && asking) await answer(asking, line);
      else if (talk) await talk(line, conversation);
      if (line === undefined) return;
    }
  };

  const unlisten = context.json ? () => {} : session.previews((preview) => printer.preview(preview));
  const release = context.onInterrupt(onInterrupt);
  person?.onInterrupt(() => onInterrupt('interrupt'));
  person?.onTyping(() => {
    if (!talk) return;
    printer.breakLine();
    person.prompt(steerPrompt);
  });
  try {
    if (!canWork && !restOf(view)) {
      printer.note(
        'this configuration does not hold its agent: it is shown here and goes on where a worker does',
        'yellow',
      );
    }
    await worker?.start();
    const talking = person && converse(person).catch((error) => leaving.abort(error));
    if (options.after >= runs.seq) await judge();
    for await (const event of session.events({ after: options.after, follow: true, signal: leaving.signal })) {
      await see(event);
      if (leaving.signal.aborted) break;
    }
    void talking;
    if (leaving.signal.reason instanceof Error && leaving.signal.reason.name !== 'AbortError') {
      throw leaving.signal.reason;
    }
    await printer.settled;
    return ending ?? 'detached';
  } finally {
    leaving.abort();
    release();
    unlisten();
    await detach();
    await worker?.stop();
  }
};
