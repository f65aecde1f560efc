/** Receives reports on the server's work, for logs, metrics and spans. */
export interface Observer {
  answered(request: Answered): void;
  failed(error: unknown, request: string): void;
  streams(change: 1 | -1): void;
  /** Called for each request with a wrong key, and whether its address has sent too many of them. */
  wrongKey(outcome: 'rejected' | 'limited'): void;
}

export interface Answered {
  readonly id: string;
  readonly method: string;
  /** The route pattern, not the address, because addresses may contain names. */
  readonly route: string;
  readonly status: number;
  readonly durationMs: number;
  readonly session?: string | undefined;
  readonly workspace?: string | undefined;
  readonly key?: string | undefined;
}

/** Measurements that a process exposes to monitoring. */
export interface Readings {
  /** Body and type of the answer to /metrics. */
  readonly metrics?: (() => Promise<{ readonly type: string; readonly text: string }>) | undefined;
}
