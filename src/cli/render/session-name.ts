import type { SessionSummary } from '../../schema/summary.ts';

/** The title of a session, or the first words of an untitled one. */
export const sessionName = ({ title, firstWords }: Pick<SessionSummary, 'title' | 'firstWords'>): string =>
  title ?? firstWords ?? '';
