/** Minimum length of a short id. The ends of ids are random, so this usually distinguishes them. */
const leastLetters = 8;

/** Shortens each id to its end, to the shortest length at which all of them differ. */
export const shortIds = (ids: readonly string[]): readonly string[] => {
  const different = new Set(ids).size;
  for (let letters = leastLetters; ; letters += 1) {
    const ends = ids.map((id) => id.slice(-letters));
    if (new Set(ends).size === different) return ends;
  }
};

export const shortIdsNote = 'ids show only their end; see --json';
