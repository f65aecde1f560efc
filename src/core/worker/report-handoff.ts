import { isPerdureError } from '../../schema/error.ts';
import { newId } from '../../schema/ids.ts';
import { reportMark } from '../../schema/report-mark.ts';
import { handoffReport, reportDue, reporterOf } from '../session/runs/handoff-report.ts';
import type { RunContext } from './run-context.ts';

/**
 * Reports to the model what people did while they held the session, as a message where the run goes on. The event
 * removes the handoff from the fold, so the report is made once, whichever worker makes it.
 */
export const reportHandoff = async (run: RunContext): Promise<void> => {
  await run.writer.decide((fold) => {
    const handoff = reportDue(fold);
    if (!handoff) return undefined;
    const content = [{ type: 'text' as const, text: handoffReport(handoff), provider: reportMark }];
    const message = { id: newId('msg'), role: 'user' as const, content };
    const payload = { message, handoff: handoff.seq };
    return [{ type: 'message.appended', payload, actor: reporterOf(handoff), turn: 'current', run: run.run }];
  });
};

/**
 * Records the changes that people made in the session's folder by hand, so that the report names them. A folder that
 * cannot be read does not stop the run, because its first file tool reports the problem.
 */
export const findHandChanges = async ({ writer, tools, files, scope }: RunContext): Promise<void> => {
  const { handoff } = await writer.fold();
  if (!handoff?.back || ![...tools.values()].some(({ usesFiles }) => usesFiles)) return;
  try {
    await files.ready();
  } catch (error) {
    if (!isPerdureError(error) || /^(STORE_|RUNTIME_|FENCED)/.test(error.code)) throw error;
    scope.onWarning(error);
  }
};
