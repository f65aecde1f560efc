import type { SessionFolds } from './session-folds.ts';

/** The folds as use cases receive them. A caller's folds also check that the caller sees the session. */
export type Folds = Pick<SessionFolds, keyof SessionFolds>;
