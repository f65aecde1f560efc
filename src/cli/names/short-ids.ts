/** Minimum length of a short id. The ends of ids are random, so this usually distinguishes them. */
const leastLetters = 8;

/** Shortens each id to the shortest end that distinguishes all of them. */
export const shortIds = (ids: readonly string[]): readonly string[] => {
  const different = new Set(ids).size;
  for (let letters = leastLetters; ; letters += 1) {
    const ends = ids.map((id) => id.slice(-letters));
    if (new Set(ends).size === different) return ends;
  }
};

export const shortIdsNote = 'ids show only their end; see --json';
