/**
 * How the input tokens that a provider reported compare with our estimates. Both sums give the newest request the most
 * weight.
 */
export interface Calibration {
  /** Tokens differ between models, so figures of another model are not used. */
  readonly model: string;
  readonly estimated: number;
  readonly reported: number;
}

/** The weight of an earlier request, relative to the next one. */
const decay = 0.5;
/** The tokens that count as estimated exactly, so that a short request hardly moves the correction. */
const prior = 500;
const [least, most] = [0.5, 3];

export const calibrate = (
  before: Calibration | undefined,
  { model, estimated, reported }: Calibration,
): Calibration => {
  const earlier = before?.model === model ? before : undefined;
  return {
    model,
    estimated: Math.round(estimated + decay * (earlier?.estimated ?? 0)),
    reported: Math.round(reported + decay * (earlier?.reported ?? 0)),
  };
};

/** The factor by which an estimate for this model is multiplied. It is 1 until the provider reported its tokens. */
export const correctionFor = (calibration: Calibration | undefined, model: string): number => {
  if (calibration?.model !== model) return 1;
  const { estimated, reported } = calibration;
  return Math.min(most, Math.max(least, (reported + prior) / (estimated + prior)));
};

/**
 * The factor for the size of the context window. It never enlarges the window, and has few steps, so that a context
 * keeps its beginning from request to request.
 */
export const windowCorrection = (calibration: Calibration | undefined, model: string): number =>
  Math.max(1, Math.ceil(correctionFor(calibration, model) * 4) / 4);
