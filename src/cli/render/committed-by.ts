import type { CommitRecord } from '../../core/state/commits.ts';
import { printableLine } from '../terminal/printable.ts';

/** Author of a commit: the tool that caused it, otherwise the actor. */
export const committedBy = ({ cause, actor }: Pick<CommitRecord, 'cause' | 'actor'>): string =>
  printableLine(cause ? `tool:${cause.tool}` : actor);
