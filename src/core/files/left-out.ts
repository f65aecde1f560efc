import type { PayloadOf } from '../../schema/event.ts';

/** Why a path of a worktree is not in its snapshot. `special` means sockets, pipes and devices. */
export type LeftOutReason = keyof PayloadOf<'files.snapshotted'>['leftOut'];

/** For each reason, the number of paths and the first few of them. A left-out folder is counted as one path. */
export type LeftOut = Readonly<Record<LeftOutReason, { readonly count: number; readonly paths: readonly string[] }>>;

const shownPaths = 10;

export const summarizeLeftOut = (paths: ReadonlyMap<string, LeftOutReason>): LeftOut => {
  const of = (reason: LeftOutReason) => {
    const all = [...paths].filter((each) => each[1] === reason).map(([path]) => path);
    return { count: all.length, paths: all.sort().slice(0, shownPaths) };
  };
  return {
    ignored: of('ignored'),
    'too-big': of('too-big'),
    unreadable: of('unreadable'),
    special: of('special'),
    secret: of('secret'),
  };
};

/** The form that an event stores, with only the reasons that occur. */
export const leftOutOf = ({ leftOut }: { readonly leftOut: LeftOut }): PayloadOf<'files.snapshotted'>['leftOut'] =>
  Object.fromEntries(
    Object.entries(leftOut).flatMap(([reason, { count, paths }]) =>
      count > 0 ? [[reason, { count, paths: [...paths] }]] : [],
    ),
  );
