import type { PayloadOf, SessionEvent } from '../../schema/event.ts';
import type { Actor } from '../../schema/ids.ts';

/** What the session's files are. */
export interface FilesState {
  readonly tree: string;
  /** Of the event that says so. */
  readonly seq: number;
  readonly leftOut: PayloadOf<'files.snapshotted'>['leftOut'];
}

export interface Artifact extends PayloadOf<'artifact.kept'> {
  readonly seq: number;
  readonly at: number;
  readonly by: Actor;
}

export interface UntoldCall {
  readonly tool: string;
  readonly callId: string;
  /** Of the event with which it began. */
  readonly seq: number;
  /** Of the event that ended it; absent while it is under way. */
  readonly endedAt?: number;
}

/** What the fold of a session knows of its files. */
export interface FilesFold {
  /** Absent as long as there were none. */
  readonly files?: FilesState | undefined;
  /** The folder of a person in which it works. */
  readonly boundTo?: PayloadOf<'files.bound'> | undefined;
  /** By name, the newest of each. */
  readonly artifacts: Readonly<Record<string, Artifact>>;
  /** Calls that are under way, and the newest that were ended without a look at what they left and of which no snapshot tells. */
  readonly untoldCalls: readonly UntoldCall[];
}

export const noFiles: FilesFold = { artifacts: {}, untoldCalls: [] };

const maxEndedCalls = 16;

/** Those under way are few, and many that only look must not take the place of one that wrote. */
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

/** A rewind takes files back too, but never in a person's own folder. Artifacts are kept for people: no rewind drops them. */
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
