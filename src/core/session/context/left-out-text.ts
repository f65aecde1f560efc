import type { PayloadOf } from '../../../schema/event.ts';
import { shorten } from './clip.ts';

type LeftOut = PayloadOf<'files.snapshotted'>['leftOut'];
type Reason = keyof LeftOut;

const reasons: Readonly<Record<Reason, string>> = {
  ignored: 'excluded by an ignore file',
  'too-big': 'too big',
  unreadable: 'not readable',
  special: 'not a regular file',
  secret: 'contains a secret',
};

const maxPathChars = 100;
const maxTextChars = 1000;

/** A path as one quoted word, because file names are not trusted. */
const quoted = (path: string): string => JSON.stringify(shorten(path, maxPathChars));

const lineOf = (reason: Reason, { count, paths }: NonNullable<LeftOut[Reason]>, maxPaths: number): string => {
  const named = paths.slice(0, maxPaths).map(quoted);
  const more = count - named.length;
  return `${reasons[reason]}: ${named.join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
};

const linesOf = (leftOut: LeftOut, maxPaths: number): readonly string[] =>
  (Object.keys(reasons) as Reason[]).flatMap((reason) => {
    const files = leftOut[reason];
    return files && files.count > 0 ? [lineOf(reason, files, maxPaths)] : [];
  });

const title = '# Files that are not kept';
const consequence =
  'These files are in the working folder of this machine only. Forks, rewinds and other machines do not have them.';

/**
 * The section of the system text about files that the newest snapshot left out, and why. Names fewer paths if there is
 * little room, and is empty if not even one path of each reason fits.
 */
export const leftOutText = (leftOut: LeftOut | undefined, maxChars: number): readonly string[] => {
  for (const maxPaths of [10, 3, 1]) {
    const lines = linesOf(leftOut ?? {}, maxPaths).map((line) => `- ${line}`);
    if (lines.length === 0) return [];
    const text = [title, consequence, ...lines];
    if (text.join('\n\n').length + 2 <= Math.min(maxTextChars, maxChars))
      return [title, `${consequence}\n${lines.join('\n')}`];
  }
  return [];
};

/**
 * Says which further files a call's snapshot leaves out. Ignored files are not mentioned, because the author of the
 * ignore file expects it.
 */
export const newlyLeftOut = (before: LeftOut | undefined, now: LeftOut): string | undefined => {
  const further = Object.fromEntries(
    Object.entries(now).flatMap(([reason, { count, paths }]) => {
      const known = before?.[reason as Reason];
      const names = paths.filter((path) => !known?.paths.includes(path));
      const more = Math.max(count - (known?.count ?? 0), names.length);
      return reason === 'ignored' || more <= 0 ? [] : [[reason, { count: more, paths: names }]];
    }),
  );
  const lines = linesOf(further, 3);
  return lines.length > 0 ? `not kept in the session's files: ${lines.join('; ')}` : undefined;
};
