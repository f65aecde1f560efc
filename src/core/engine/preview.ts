import type { ModelDelta } from '../ports/model.ts';

/** Output that is shown while it is produced, before the log has it. */
export type Preview =
  /**
   * `offset` is the length of this kind of text shown earlier in the message, so that viewers can detect a missed
   * piece.
   */
  ({ readonly type: 'delta'; readonly message: string; readonly offset: number } & ModelDelta) | Progress;

interface Progress {
  readonly type: 'progress';
  readonly callId: string;
  readonly text: string;
}

/** A preview as its producer reports it, before its offset is known. */
export type Written = ({ readonly type: 'delta'; readonly message: string } & ModelDelta) | Progress;

/** The preview without the first `count` characters of its text. */
export const after = (preview: Preview, count: number): Preview => ({
  ...preview,
  ...(preview.type === 'delta' && { offset: preview.offset + count }),
  text: preview.text.slice(count),
});
