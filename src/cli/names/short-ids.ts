/** Enough to tell ids apart, whose ends are random. */
const leastLetters = 8;

/** Of each id as much of its end as tells it from the others. */
export const shortIds = (ids: readonly string[]): readonly string[] => {
  const different = new Set(ids).size;
  for (let letters = leastLetters; ; letters += 1) {
    const ends = ids.map((id) => id.slice(-letters));
    if (new Set(ends).size === different) return ends;
  }
};

export const shortIdsNote = 'ids show only their end; see --json';
