import type { MessageId, SessionId } from './ids.ts';
import type { Json } from './json.ts';
import type { Message, ToolResultPart } from './message.ts';
import type { WaitReason } from './run.ts';
import type { EndedRun } from './run-result.ts';

interface PieceOf<Type> {
  readonly type: Type;
  /** The id of the message that this piece will be part of. */
  readonly message: MessageId;
  /** The number of characters of this type in the message before this piece. */
  readonly offset: number;
  readonly text: string;
}

/** A piece of the answer that is being written. It is shown before the log has it. */
export type AnswerPiece = PieceOf<'text'> | PieceOf<'reasoning'> | PieceOf<'tool-input'>;

/** Progress that a tool reports while its call runs. The log does not hold it. */
export interface ProgressPiece {
  readonly type: 'tool-progress';
  readonly callId: string;
  readonly text: string;
}

/** One event of a run. `stream({ after: seq })` continues after this event. */
export type EventPart<Output = unknown> = { readonly seq: number } & (
  | { readonly type: 'started'; readonly attempt: number }
  | { readonly type: 'message'; readonly message: Extract<Message, { role: 'assistant' }> }
  /** The answer broke off. The reader must discard what was shown of this message; the transcript keeps it. */
  | { readonly type: 'restart'; readonly message: MessageId; readonly reason: string }
  | {
      readonly type: 'tool-call';
      readonly callId: string;
      readonly tool: string;
      readonly input: Json;
      readonly attempt: number;
    }
  | { readonly type: 'tool-results'; readonly results: readonly ToolResultPart[] }
  | {
      readonly type: 'approval';
      readonly approval: string;
      readonly callId: string;
      readonly tool: string;
      readonly input: Json;
      readonly summary: string;
      readonly expiresAt?: number | undefined;
    }
  | {
      readonly type: 'approval-settled';
      readonly approval: string;
      readonly answer: 'approved' | 'denied' | 'expired' | 'voided' | 'imported';
      readonly comment?: string | undefined;
    }
  | {
      readonly type: 'question';
      readonly callId: string;
      readonly tool: string;
      readonly question: string;
      readonly options?: readonly string[] | undefined;
    }
  | { readonly type: 'question-answered'; readonly callId: string; readonly answer: string }
  | {
      readonly type: 'waiting';
      readonly for: WaitReason;
      readonly reason?: string | undefined;
      /** The time at which the run continues by itself. */
      readonly until?: number | undefined;
      /** The session of a subagent that the run waits for. */
      readonly session?: SessionId | undefined;
    }
  | { readonly type: 'paused'; readonly reason?: string | undefined }
  | { readonly type: 'resumed' }
  | { readonly type: 'end'; readonly result: EndedRun<Output> }
);

/** One item of a run's stream, in the order in which the items happen. */
export type RunPart<Output = unknown> = EventPart<Output> | AnswerPiece | ProgressPiece;
