import type { Session } from '../../core/runtime/session.ts';
import type { HappenedCalls } from '../../schema/happened.ts';
import { parsePlace, placeIn } from '../names/place.ts';
import type { Context } from '../parse/command.ts';
import { parseCount, parsePoint } from '../parse/point.ts';
import { wrongCall } from '../parse/wrong-call.ts';
import { happenedLines, notUndone } from '../render/happened-lines.ts';
import { renderDiff } from '../render/render-diff.ts';
import { linesText } from '../terminal/terminal.ts';
import { twoColumns } from '../terminal/two-columns.ts';
import type { LiveSession } from './live-session.ts';

interface CommandCall {
  readonly context: Context;
  readonly session: Session;
  readonly rest: string;
  readonly live: LiveSession;
}

export interface ChatCommand {
  readonly usage: string;
  readonly about: string;
  readonly rest?: string;
  /** Runs the command. Returns the session to continue in, if the command switched to another one. */
  run(call: CommandCall): Promise<Session | undefined>;
}

const command = (usage: string, about: string, run: (call: CommandCall) => Promise<unknown>): ChatCommand => ({
  usage,
  about,
  run: async (call) => void (await run(call)),
});

const write = async ({ context, live }: CommandCall, lines: readonly string[]): Promise<void> => {
  live.printer.breakLine();
  await live.printer.settled;
  await context.out.write(linesText(lines));
};

const noteHappened = ({ context, live }: CommandCall, happened: HappenedCalls): void => {
  for (const line of happenedLines(notUndone, happened, context.err)) live.printer.note(line);
};

const showDiff = async (call: CommandCall): Promise<void> => {
  let page = await call.session.transcript({ lastTurns: 2 });
  const newest = page.entries.at(-1)?.turn ?? 0;
  const other = () => page.entries.find(({ turn }) => turn !== newest);
  while (page.cursor && !other()) page = await call.session.transcript({ lastTurns: 2, cursor: page.cursor });
  const before = other()?.turn ?? 0;
  const [from = String(before), to = String(newest)] = call.rest.split(/\s+/).filter(Boolean);
  const [a, b] = [await placeIn(call.context, parsePlace(from)), await placeIn(call.context, parsePlace(to))];
  const diff = await call.session.diff(a, b);
  await write(call, renderDiff(diff, call.context.out));
};

/** Runs a turn again. */
const retryTurn = async (call: CommandCall): Promise<void> => {
  const [, number = '', again] = /^(?:turn:)?(\S*)(\s+(?:--)?again)?$/.exec(call.rest.trim()) ?? [];
  const turn = parseCount('/retry', number, 1);
  if (turn === undefined) throw wrongCall('/retry needs the number of a turn');
  const { run, happened } = await call.session.retry({ turn, again: again !== undefined });
  noteHappened(call, happened);
  if (run) call.live.expect(run.id);
};

export const chatCommands: Readonly<Record<string, ChatCommand>> = {
  help: command('/help', 'this list', async (call) => {
    const rows = Object.values(chatCommands).map(({ usage, about }) => [usage, about] as const);
    await write(call, twoColumns(rows, call.context.out.columns));
  }),
  fork: {
    usage: '/fork',
    about: 'go on in a fork; this session stays as it is',
    run: async ({ session, live }) => {
      const fork = await session.fork();
      live.printer.note(`from here on this is ${fork.id}, a fork of ${session.id}`);
      return fork;
    },
  },
  diff: command('/diff [FROM TO]', 'what the last turn changed in the state, or between two places', showDiff),
  rewind: command('/rewind N', 'go on from the end of turn N; nothing is erased', async (call) => {
    const { happened } = await call.session.rewind({ to: parsePoint(call.rest) });
    noteHappened(call, happened);
  }),
  retry: command('/retry N [again]', 'ask turn N again; `again` if its calls took effect', retryTurn),
  pause: command('/pause', 'stop at the next safe point', ({ session }) => session.pause()),
  resume: command('/resume', 'go on after a pause', ({ session }) => session.resume()),
  quit: command('/quit', 'leave; a run goes on in the background', async ({ live }) => live.leave()),
};
