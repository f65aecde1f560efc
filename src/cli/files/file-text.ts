import type { ChangedFile } from '../../schema/state.ts';
import { printable } from '../terminal/printable.ts';

/** Formats a change: `modified src/main.ts`, `renamed a → b`. */
export const changedFileText = ({ change, path, from }: ChangedFile): string =>
  `${change} ${from === undefined ? '' : `${printable(from)} → `}${printable(path)}`;
