import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Session } from '../../core/service/session.ts';
import { openRuntime } from '../../runtime.ts';
import type { Context } from '../command.ts';
import { demoAgent, demoConfig } from '../config/demo-agent.ts';
import type { Ending } from '../exit-codes.ts';
import { printableJson } from '../printable.ts';
import { renderDiff } from '../render-diff.ts';
import { linesText } from '../terminal.ts';
import { LivePrinter } from './live-printer.ts';

const startWorker = (folder: string, session: string): ChildProcess => {
  const { PERDURE_STORE, PERDURE_WORKSPACE, ...env } = process.env;
  const args = [process.argv[1]!, 'worker', '--session', session, '--once'];
  return spawn(process.execPath, args, { cwd: folder, env, stdio: 'ignore' });
};

/** So that the command is under way. */
const intoTheCallMs = 1000;

/** Follows the run and kills its worker when it is in the middle of a call; another one finishes it. */
const runAndKill = async (
  session: Session,
  folder: string,
  printer: LivePrinter,
  signal: AbortSignal,
): Promise<boolean> => {
  let worker = startWorker(folder, session.id);
  let hasKilled = false;
  try {
    for await (const event of session.events({ follow: true, signal })) {
      printer.event(event);
      await printer.settled;
      if (event.type === 'run.ended') return event.payload.status === 'succeeded';
      if (hasKilled || event.type !== 'tool.called' || event.payload.tool !== 'shell') continue;
      hasKilled = true;
      await sleep(intoTheCallMs, undefined, { signal });
      printer.note(`the worker, process ${worker.pid}, is killed in the middle of this call`, 'red');
      worker.kill('SIGKILL');
      await once(worker, 'exit');
      worker = startWorker(folder, session.id);
      printer.note(`another one, process ${worker.pid}, takes over from the log`, 'green');
    }
    return false;
  } finally {
    worker.kill();
  }
};

/** All of it is real but the model, which is a script. */
export const showDemo = async (context: Context): Promise<Ending> => {
  const folder = await mkdtemp(join(tmpdir(), 'perdure-demo-'));
  const store = `sqlite:${join(folder, '.perdure', 'perdure.db')}`;
  const { agents, models } = demoConfig;
  const runtime = await openRuntime({ store, agents, models: models! });
  try {
    const printer = new LivePrinter(context);
    const session = await runtime.sessions.open({ agent: demoAgent, title: 'A demo' });
    await session.send('Give me the tour.');
    printer.note('What answers here is a script, not a model. The session, its log and the kill are real.', 'bold');
    const succeeded = await runAndKill(session, folder, printer, context.interrupted());
    const [diff, verified] = [await session.diff({ turn: 0 }, { turn: 1 }), await session.verify()];
    if (context.json) await context.out.write(`${printableJson({ succeeded, diff, verified })}\n`);
    else {
      printer.note('what the run changed in the state:', 'bold');
      await printer.settled;
      await context.out.write(linesText(renderDiff(diff, context.out)));
      await context.note(verified.ok ? 'the hash chain of the log holds' : 'the hash chain of the log is broken');
    }
    return succeeded && verified.ok ? 'success' : 'failure';
  } finally {
    await runtime.close();
    await rm(folder, { recursive: true, force: true });
  }
};
