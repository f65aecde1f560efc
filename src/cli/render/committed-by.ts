import type { CommitRecord } from '../../core/state/commits.ts';
import { printableLine } from '../terminal/printable.ts';

/** Whose doing a commit was: a tool's, or that of whoever wrote it. */
export const committedBy = ({ cause, actor }: Pick<CommitRecord, 'cause' | 'actor'>): string =>
  printableLine(cause ? `tool:${cause.tool}` : actor);
