import type { HappenedCalls } from '../../../schema/happened.ts';
import type { Waiting } from '../../../schema/waiting.ts';
import { digestState, verbatim } from '../events/digest.ts';
import type { SessionFold } from '../fold.ts';
import { clip } from './clip.ts';
import { happenedText } from './happened-text.ts';
import { leftOutText } from './left-out-text.ts';
import { lostText } from './lost-text.ts';
import { keyName } from './recall-key.ts';

export interface SystemParts {
  readonly instructions?: string | undefined;
  /** The session at the start of the turn, for the digest. */
  readonly began: SessionFold;
  /** What the session waited for at the start of the turn. */
  readonly waiting?: Waiting | undefined;
  readonly compaction: SessionFold['compaction'];
  /** The calls that happened beside the live lineage. */
  readonly happened?: HappenedCalls | undefined;
  /** Taken from the newest fold, because a fork may begin in the middle of a turn. */
  readonly lost?: SessionFold['lost'];
}

type Leaves = (key: string) => void;

const shortened = (summary: string, maxChars: number, leaves: Leaves): string => {
  if (summary.length <= maxChars) return summary;
  leaves('summary');
  const kept = clip(summary, maxChars);
  return `${kept}\n(${summary.length - kept.length} more characters: recall summary)`;
};

type Compaction = NonNullable<SessionFold['compaction']>;

/** What can be recalled: always the turns, and as many calls as fit, by name. Their turn leads to other calls. */
const keysWithin = ({ evicted, calls: made }: Compaction, maxChars: number): string => {
  const [turns = '', ...calls] = evicted;
  let room = maxChars;
  const kept = calls
    .map((key) => `- ${keyName(key)}`)
    .filter((line) => {
      room -= line.length + 1;
      return room >= 0;
    });
  const more = (made ?? calls.length) - kept.length;
  return [turns, ...kept, ...(more > 0 ? [`(and ${more} more calls, in these turns)`] : [])].join('\n');
};

const summaryText = (compaction: Compaction, maxChars: number, leaves: Leaves) => {
  for (const key of compaction.evicted) leaves(key);
  return [
    '# Earlier in this session',
    shortened(compaction.summary, Math.floor(maxChars * 0.75), leaves),
    `Left out; recall it by key or name when you need it: ${keysWithin(compaction, Math.floor(maxChars * 0.25))}`,
  ];
};

/**
 * The text before the messages. Instructions, pinned facts and open actions are always complete. The rest of the state
 * may use a quarter of the `spare` tokens (four characters each), the compacted summary and the calls that happened
 * another quarter each, and files that are not kept an eighth. Reports the key of everything that is left out.
 */
export const systemText = (
  { instructions, began, waiting, compaction, lost: losses, happened }: SystemParts,
  spare: number,
  leaves: Leaves = () => {},
): string => {
  const digest = digestState(began, spare, waiting, leaves);
  const text = [
    ...(instructions ? [instructions] : []),
    ...lostText(losses),
    ...(digest ? ['# What is known and decided', digest] : []),
    ...(compaction ? summaryText(compaction, spare, leaves) : []),
    ...happenedText(happened, spare, leaves),
    ...leftOutText(began.files?.leftOut, Math.floor(spare / 2)),
  ].join('\n\n');
  const lost = verbatim(began.state).filter((line) => !text.includes(line));
  if (lost.length > 0) throw new TypeError(`the context lacks lines that it must include verbatim: ${lost.join('; ')}`);
  return text;
};
