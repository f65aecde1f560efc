/** What the server tells of its work, for logs, metrics and spans. */
export interface Observer {
  answered(request: Answered): void;
  failed(error: unknown, request: string): void;
  streams(change: 1 | -1): void;
}

export interface Answered {
  readonly id: string;
  readonly method: string;
  /** The route, not the address: that may hold names. */
  readonly route: string;
  readonly status: number;
  readonly durationMs: number;
  readonly session?: string | undefined;
  readonly workspace?: string | undefined;
  readonly key?: string | undefined;
}

/** What a process tells of itself to those who watch over it. */
export interface Readings {
  /** What /metrics answers. */
  readonly metrics?: (() => Promise<{ readonly type: string; readonly text: string }>) | undefined;
}
