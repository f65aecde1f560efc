/** Defaults of the options of `openPostgresStore`. */
export const postgresDefaults = {
  poolSize: 8,
  fallbackPollMs: 5000,
  keepAliveMs: 5000,
  statementTimeoutMs: 10_000,
} as const;
