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

interface SeenCall {
  readonly tool: string;
  readonly callId: string;
}

/** What the fold of a session knows of its files. */
export interface FilesFold {
  /** Absent as long as there were none. */
  readonly files?: FilesState | undefined;
  /** The folder of a person in which it works. */
  readonly boundTo?: PayloadOf<'files.bound'> | undefined;
  /** By name, the newest of each. */
  readonly artifacts: Readonly<Record<string, Artifact>>;
  /** Calls since the last snapshot that are under way, or were ended without a look at what they left. */
  readonly untoldCalls: readonly SeenCall[];
}

export const noFiles: FilesFold = { artifacts: {}, untoldCalls: [] };

const maxUntoldCalls = 16;

const without = (calls: readonly SeenCall[], callId: string): readonly SeenCall[] =>
  calls.filter((call) => call.callId !== callId);

/** A rewind takes files back too, but never in a person's own folder. Artifacts are kept for people: no rewind drops them. */
export const foldFiles = (before: FilesFold, event: SessionEvent, target?: FilesFold): FilesFold => {
  const { files, boundTo, artifacts, untoldCalls } = before;
  switch (event.type) {
    case 'files.snapshotted': {
      const { tree, leftOut } = event.payload;
      return { files: { tree, seq: event.seq, leftOut }, boundTo, artifacts, untoldCalls: [] };
    }
    case 'files.bound':
      return { files, boundTo: event.payload, artifacts, untoldCalls };
    case 'artifact.kept': {
      const { seq, at, actor: by, payload } = event;
      return { files, boundTo, artifacts: { ...artifacts, [payload.name]: { ...payload, seq, at, by } }, untoldCalls };
    }
    case 'tool.called': {
      const { tool, callId } = event.payload;
      return { files, boundTo, artifacts, untoldCalls: [...untoldCalls, { tool, callId }].slice(-maxUntoldCalls) };
    }
    case 'tool.completed':
      return { files, boundTo, artifacts, untoldCalls: without(untoldCalls, event.payload.callId) };
    case 'tool.failed': {
      const isLookedAt = event.payload.outcome !== 'cancelled' && event.payload.outcome !== 'interrupted';
      return isLookedAt
        ? { files, boundTo, artifacts, untoldCalls: without(untoldCalls, event.payload.callId) }
        : { files, boundTo, artifacts, untoldCalls };
    }
    case 'session.rewound':
      return { files: boundTo ? files : target?.files, boundTo, artifacts, untoldCalls };
    case 'session.forked':
      return { files, boundTo: undefined, artifacts, untoldCalls: [] };
    default:
      return { files, boundTo, artifacts, untoldCalls };
  }
};
