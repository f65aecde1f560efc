import type { StoreWatch } from '../backing/backing.ts';
import { serverBacking, serverOf } from '../backing/server-backing.ts';
import { storeBacking } from '../backing/store-backing.ts';
import { findSession, mostRecent } from '../names/find-session.ts';
import type { Context } from '../parse/command.ts';
import type { World } from '../parse/world.ts';
import { shellWord } from '../render/wrap-command.ts';
import { wrap } from '../terminal/display-width.ts';
import { printableJson } from '../terminal/printable.ts';
import { linesText } from '../terminal/terminal.ts';
import { topics } from './help.ts';
import { helpOn } from './help-on.ts';
import type { RunCall } from './parse-call.ts';
import { commands } from './registry.ts';

export const contextFor = (
  world: World,
  call: RunCall,
  watch: StoreWatch,
): { readonly context: Context; readonly close: () => Promise<void> } => {
  const { out, err, stdin, now, env, program, call: another, interrupted, onInterrupt, hiddenLine, parent } = world;
  const json = call.options.json ?? false;
  const server = serverOf(world, call);
  const backing = server === undefined ? storeBacking(world, call, watch) : serverBacking(world, call, server);
  const { given, shown, close, ...backed } = backing;
  const sessions: Context['sessions'] = async () => (await backed.runtime()).sessions;
  const sessionId: Context['sessionId'] = async (named, lastOf) => {
    const id = await findSession(sessions, named, lastOf);
    if (named === mostRecent && err.isTerminal) await context.note(`the most recent session is ${id}`);
    return id;
  };
  const context: Context = {
    ...backed,
    out,
    err,
    stdin,
    json,
    env,
    program,
    now,
    call: another,
    commands,
    help: { topics, on: helpOn },
    interrupted,
    onInterrupt,
    parent,
    hiddenLine,
    sessions,
    sessionId,
    session: async (named, lastOf) => {
      const id = await sessionId(named, lastOf);
      return (await sessions()).get(id);
    },
    person: ({ anyInput } = { anyInput: false }) => (json && !anyInput ? undefined : world.person(anyInput)),
    commandText: (...words) => {
      const same = Object.entries(given).flatMap(([name, value]) => (value === undefined ? [] : [`--${name}`, value]));
      return shown([program, ...[...words, ...same].map(shellWord)].join(' '));
    },
    answer: (value, tell) => {
      if (json) return out.write(`${printableJson(value)}\n`);
      const lines = tell();
      return out.write(linesText(typeof lines === 'string' ? wrap(lines, out.columns) : lines));
    },
    note: async (text) => {
      if (!json) await err.write(linesText(wrap(text, err.columns).map((line) => err.style('dim', line))));
    },
  };
  return { context, close };
};
