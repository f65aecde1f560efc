import type { MessageId, SessionId } from '../../../schema/ids.ts';
import type { Json } from '../../../schema/json.ts';
import type { BrokenOff, Role, ToolOutcome } from '../../../schema/message.ts';
import type { Said } from '../../../schema/said.ts';
import type { CommitRecord } from '../state/commit-record.ts';
import type { SideUsage } from './side-usage.ts';

/** An event of one side. */
interface Happened {
  readonly session: SessionId;
  readonly seq: number;
  readonly turn: number;
}

/** A message of one side. A tool's results are in its calls. */
export interface SideMessage extends Happened {
  readonly id: MessageId;
  readonly role: Exclude<Role, 'tool'>;
  /** The beginning of the text. */
  readonly text: string;
  readonly reasoning?: string | undefined;
  /** The tools that the message calls. */
  readonly calls?: readonly string[] | undefined;
  readonly model?: string | undefined;
  readonly brokenOff?: BrokenOff | undefined;
}

/** A call of one side. `input`, `output` and `error` are the beginnings of their texts. */
export interface SideCall extends Happened {
  readonly callId: string;
  readonly tool: string;
  readonly outcome: ToolOutcome | 'running';
  /** Absent for a call that began before both sides part, and for one whose input is not in the log. */
  readonly input?: string | undefined;
  readonly output?: string | undefined;
  readonly error?: string | undefined;
  readonly durationMs?: number | undefined;
  readonly endedSeq?: number | undefined;
  readonly said?: Said | undefined;
}

/** A commit of one side. */
export type SideCommit = Pick<
  CommitRecord,
  'session' | 'seq' | 'turn' | 'at' | 'actor' | 'cause' | 'why' | 'entries'
> & { readonly said?: Said | undefined };

/** A model with the settings of its requests. */
export interface SideModel {
  readonly model: string;
  readonly settings: Json;
  readonly requests: number;
}

/** How the last run of a side ended, or where it is. */
export interface SideOutcome {
  readonly status: 'running' | 'waiting' | 'succeeded' | 'failed' | 'cancelled';
  /** What a waiting run waits for, or the code of the failure. */
  readonly reason?: string | undefined;
}

/** An item with the digests by which it is compared. They never leave this room. */
export interface Digested<T> {
  readonly item: T;
  /** Equal for items that belong together. */
  readonly key: string;
  /** Equal for items of the same kind, which belong together if nothing else fits. */
  readonly kind: string;
  /** Equal for items with the same result. */
  readonly end: string;
}

/** Everything that happened on one side of a diff, oldest first. */
export interface Side {
  readonly messages: readonly Digested<SideMessage>[];
  readonly calls: readonly Digested<SideCall>[];
  readonly commits: readonly Digested<SideCommit>[];
  /** The last message of the model that has text. */
  readonly answer?: { readonly message: MessageId; readonly seq: number; readonly text: string } | undefined;
  readonly models: readonly SideModel[];
  readonly usage: SideUsage;
  readonly outcome?: SideOutcome | undefined;
  /** Events that were not compared: they are too many, or damaged. */
  readonly unread: number;
}
