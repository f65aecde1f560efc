/** What running a call twice would do. Without a schema, so that a program that defines tools loads no package. */
export const effectKinds = ['none', 'idempotent', 'once'] as const;

/** What happens to a `once` call that repeats an earlier one. */
export const repeatPolicies = ['ask', 'deny', 'allow'] as const;
