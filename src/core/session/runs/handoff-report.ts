import { type Actor, systemActor } from '../../../schema/ids.ts';
import { clip } from '../context/clip.ts';
import { type PendingHandoff, quoted } from './handoff-fold.ts';

const maxReportChars = 12_000;

const holderOf = ({ member, role }: PendingHandoff): string => {
  if (member !== undefined) return `member:${member}`;
  return role === undefined ? 'a person' : `a member with the role ${role}`;
};

const asList = (lines: readonly string[], more: number): readonly string[] =>
  more > 0 ? [...lines, `- and ${more} more, which this report leaves out`] : lines;

const filesText = ({ files, moreFiles }: PendingHandoff): readonly string[] => {
  const lines = Object.entries(files).map(([path, change]) => `- ${quoted(path, 200)}: ${change}`);
  return lines.length > 0 ? ['Files changed meanwhile:', ...asList(lines, moreFiles)] : [];
};

const actsText = ({ acts, moreActs }: PendingHandoff): readonly string[] =>
  acts.length > 0
    ? [
        'What people did meanwhile:',
        ...asList(
          acts.map(({ by, what }) => `- ${by} ${what}`),
          moreActs,
        ),
      ]
    : ['Nobody said, changed or decided anything in the session meanwhile.'];

/**
 * The report of a handoff, as the model receives it. Text of people and names of files are quoted. The report is
 * bounded, and says what it leaves out.
 */
export const handoffReport = (handoff: PendingHandoff): string => {
  const { by, reason, back } = handoff;
  const why = back?.why === undefined ? '' : `, and says: ${quoted(back.why, 2000)}`;
  const text = [
    `This session was with ${holderOf(handoff)}: ${by} handed it over${reason ? ` (${quoted(reason)})` : ''}.`,
    ...(back ? [`${back.by} handed it back to you${why}.`] : []),
    ...actsText(handoff),
    ...filesText(handoff),
  ].join('\n');
  if (text.length <= maxReportChars) return text;
  const kept = clip(text, maxReportChars);
  return `${kept}\n(${text.length - kept.length} more characters of this report are left out)`;
};

const hasNews = ({ acts, files, back }: PendingHandoff): boolean =>
  acts.length > 0 || Object.keys(files).length > 0 || back?.why !== undefined;

/**
 * The handoff that a message must report to the model before its next answer. Undefined if there is nothing to report,
 * or if the result of an open call will report it.
 */
export const reportDue = (fold: {
  readonly handoff?: PendingHandoff | undefined;
  readonly openCalls: Readonly<Record<string, unknown>>;
}): PendingHandoff | undefined => {
  const { handoff, openCalls } = fold;
  if (!handoff?.back || !hasNews(handoff)) return undefined;
  return handoff.callId !== undefined && openCalls[handoff.callId] ? undefined : handoff;
};

/**
 * The actor of the report. It is the member who handed the session back if members alone acted, so that the report has
 * their provenance.
 */
export const reporterOf = ({ hasOutsiders, back }: PendingHandoff): Actor =>
  back?.by.startsWith('member:') && !hasOutsiders ? back.by : systemActor;
