import type { PayloadOf, SessionEvent } from '../../schema/event.ts';
import type { Actor } from '../../schema/ids.ts';

/** The current files of a session. */
export interface FilesState {
  readonly tree: string;
  /** The seq of the snapshot event. */
  readonly seq: number;
  readonly leftOut: PayloadOf<'files.snapshotted'>['leftOut'];
}

export interface Artifact extends PayloadOf<'artifact.kept'> {
  readonly seq: number;
  readonly at: number;
  readonly by: Actor;
}

/** A call whose file changes are not recorded by any snapshot yet. */
export interface UntoldCall {
  readonly tool: string;
  readonly callId: string;
  /** The seq of the event that began the call. */
  readonly seq: number;
  /** The seq of the event that ended the call. Absent while it is running. */
  readonly endedAt?: number;
}

/** The part of a session's fold that concerns its files. */
export interface FilesFold {
  /** The current files. Absent until the session's first snapshot. */
  readonly files?: FilesState | undefined;
  /** The person's own folder that the session works in. */
  readonly boundTo?: PayloadOf<'files.bound'> | undefined;
  /** The newest artifact of each name. */
  readonly artifacts: Readonly<Record<string, Artifact>>;
  /** Running calls, and the newest calls that were cancelled or interrupted without a snapshot of their changes. */
  readonly untoldCalls: readonly UntoldCall[];
}

export const noFiles: FilesFold = { artifacts: {}, untoldCalls: [] };

const maxEndedCalls = 16;

/**
 * Keeps only the newest ended calls. Running calls are not limited, because they are few and must not displace an
 * ended call that wrote files.
 */
const bounded = (calls: readonly UntoldCall[]): readonly UntoldCall[] => {
  const ended = calls.filter(({ endedAt }) => endedAt).slice(-maxEndedCalls);
  return calls.filter((call) => !call.endedAt || ended.includes(call));
};

const without = (calls: readonly UntoldCall[], callId: string): readonly UntoldCall[] =>
  calls.filter((call) => call.callId !== callId);

export const artifactOf = ({ seq, at, actor: by, payload }: SessionEvent<'artifact.kept'>): Artifact => ({
  ...payload,
  seq,
  at,
  by,
});

/**
 * Applies one event to the files of a session. A rewind restores the files too, except in a person's own folder. A
 * rewind keeps artifacts, because they are for people.
 */
export const foldFiles = (fold: FilesFold, event: SessionEvent, target?: FilesFold): FilesFold => {
  const { files, boundTo, artifacts, untoldCalls } = fold;
  const before: FilesFold = { files, boundTo, artifacts, untoldCalls };
  switch (event.type) {
    case 'files.snapshotted': {
      const { tree, leftOut, cause } = event.payload;
      const untold = untoldCalls.filter(({ callId, endedAt }) => !endedAt || callId !== cause?.callId);
      return { ...before, files: { tree, seq: event.seq, leftOut }, untoldCalls: untold };
    }
    case 'files.bound':
      return { ...before, boundTo: event.payload };
    case 'artifact.kept':
      return { ...before, artifacts: { ...artifacts, [event.payload.name]: artifactOf(event) } };
    case 'tool.called': {
      const { tool, callId } = event.payload;
      const call = { tool, callId, seq: event.seq };
      return { ...before, untoldCalls: [...untoldCalls, call] };
    }
    case 'tool.completed':
      return { ...before, untoldCalls: without(untoldCalls, event.payload.callId) };
    case 'tool.failed': {
      const { outcome, callId } = event.payload;
      const isLookedAt = outcome !== 'cancelled' && outcome !== 'interrupted';
      if (isLookedAt) return { ...before, untoldCalls: without(untoldCalls, callId) };
      const ended = untoldCalls.map((call) => (call.callId === callId ? { ...call, endedAt: event.seq } : call));
      return { ...before, untoldCalls: bounded(ended) };
    }
    case 'session.rewound':
      return { ...before, files: boundTo ? files : target?.files };
    case 'session.forked':
      return { ...before, boundTo: undefined, untoldCalls: [] };
    default:
      return before;
  }
};
