/** A value by which listings find a session, such as `{ name: 'status', value: 'open' }`. */
export interface SessionValue {
  readonly name: string;
  readonly value: string;
}

/**
 * Conditions on a session's values: every list must contain at least one of them. So a list is a disjunction, and the
 * lists together are a conjunction.
 */
export type ValueConditions = readonly (readonly SessionValue[])[];
