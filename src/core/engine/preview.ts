import type { ModelDelta } from '../ports/model.ts';

/** What is shown while it happens and is not part of the log. */
export type Preview =
  /** `offset` counts what was shown of this kind of text in the message before: whoever missed a piece sees that. */
  ({ readonly type: 'delta'; readonly message: string; readonly offset: number } & ModelDelta) | Progress;

interface Progress {
  readonly type: 'progress';
  readonly callId: string;
  readonly text: string;
}

/** As it is told by who writes. */
export type Written = ({ readonly type: 'delta'; readonly message: string } & ModelDelta) | Progress;

/** What is left when so many characters of its text are left out. */
export const after = (preview: Preview, count: number): Preview => ({
  ...preview,
  ...(preview.type === 'delta' && { offset: preview.offset + count }),
  text: preview.text.slice(count),
});
