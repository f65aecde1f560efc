import type { Taint, TaintSource } from './taint.ts';

const sourceText = ({ tool, turn, seq }: TaintSource): string => {
  if (seq === undefined) return `the description of ${tool}`;
  return turn === undefined ? tool : `${tool} in turn ${turn}`;
};

const maxShown = 3;

/** Names what tainted a context. It contains names of tools alone, and nothing that a result says. */
export const taintText = ({ sources, more }: Taint): string => {
  const shown = sources.slice(0, maxShown).map(sourceText);
  const rest = sources.length - shown.length + more;
  return [...shown, ...(rest > 0 ? [`${rest} more`] : [])].join(', ');
};
