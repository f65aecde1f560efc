export type Unit = 'ms' | 'x' | '%' | 'B' | '/s' | '';

/** The target of a figure. A figure without a target only explains others. */
export interface Target {
  readonly atLeast?: number;
  readonly atMost?: number;
  readonly below?: number;
}

export interface Figure {
  readonly name: string;
  readonly value: number;
  readonly unit: Unit;
  readonly target?: Target;
  /** How the value was obtained. */
  readonly detail?: string;
}

/** A figure with its case and engine. */
export interface Result extends Figure {
  readonly case: string;
  readonly engine: string;
  /** Absent if there is no target. */
  readonly ok?: boolean;
}

export const meets = (value: number, { atLeast, atMost, below }: Target): boolean =>
  (atLeast === undefined || value >= atLeast) &&
  (atMost === undefined || value <= atMost) &&
  (below === undefined || value < below);

export const resultOf = (name: string, engine: string, figure: Figure): Result => ({
  case: name,
  engine,
  ...figure,
  ...(figure.target && { ok: meets(figure.value, figure.target) }),
});

const digitsOf = (value: number): number => {
  const size = Math.abs(value);
  if (size >= 100) return 0;
  return size >= 10 ? 1 : size >= 0.1 ? 2 : 3;
};

export const show = (value: number, unit: Unit): string => {
  if (!Number.isFinite(value)) return '-';
  const number = value.toLocaleString('en', { maximumFractionDigits: digitsOf(value) });
  return unit === '%' || unit === '/s' || unit === 'x' || unit === '' ? `${number}${unit}` : `${number} ${unit}`;
};

export const showTarget = ({ atLeast, atMost, below }: Target, unit: Unit): string =>
  [
    atLeast === undefined ? '' : `≥ ${show(atLeast, unit)}`,
    atMost === undefined ? '' : `≤ ${show(atMost, unit)}`,
    below === undefined ? '' : `< ${show(below, unit)}`,
  ]
    .filter(Boolean)
    .join(', ');
