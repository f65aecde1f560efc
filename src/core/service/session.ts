import { z } from 'zod';
import type { SessionEvent } from '../../schema/event.ts';
import { newId, type SessionId } from '../../schema/ids.ts';
import { Metadata, Text } from '../../schema/json.ts';
import { Message, type MessageInput } from '../../schema/message.ts';
import type { Point } from '../../schema/point.ts';
import type { SessionSummary } from '../../schema/summary.ts';
import type { Context } from '../session/context.ts';
import type { SessionCommand } from '../session/decide.ts';
import { encodeValid, parseInput } from '../session/event-codec.ts';
import { type EventsOptions, readEvents } from './events.ts';
import { type ExecuteOptions, execute } from './execute.ts';
import { type ForkOptions, forkSession } from './fork.ts';
import { resolvePoint } from './points.ts';
import { keyOf, type Scope } from './scope.ts';
import { sessionNotFound } from './session-folds.ts';
import {
  type ContextOptions,
  readContext,
  readTranscript,
  type TranscriptEntry,
  type TranscriptOptions,
} from './transcript.ts';
import { readTree, type TreeNode } from './tree.ts';
import { type Verification, verifySession } from './verify.ts';
import { writeBundle } from './write-bundle.ts';

/** A handle on a session. It holds no resource: `close` ends the session itself, and `reopen` undoes that. */
export interface Session {
  readonly id: SessionId;
  summary(): Promise<SessionSummary>;
  /** Adds messages of a caller that runs its own loop. A user's message opens a turn. */
  append(
    messages: MessageInput | readonly MessageInput[],
    options?: { readonly idempotencyKey?: string },
  ): Promise<readonly SessionEvent<'message.appended'>[]>;
  describe(about: { readonly title?: string; readonly metadata?: Metadata }): Promise<void>;
  events(options?: EventsOptions): AsyncGenerator<SessionEvent, void, void>;
  transcript(options?: TranscriptOptions): Promise<readonly TranscriptEntry[]>;
  /** What a model would be given next. */
  context(options?: ContextOptions): Promise<Context>;
  pause(options?: { readonly reason?: string }): Promise<void>;
  resume(): Promise<void>;
  close(options?: { readonly reason?: string }): Promise<void>;
  reopen(): Promise<void>;
  archive(): Promise<void>;
  restore(): Promise<void>;
  fork(options?: ForkOptions): Promise<Session>;
  rewind(options: { readonly to: Point; readonly reason?: string }): Promise<void>;
  tree(): Promise<TreeNode>;
  verify(): Promise<Verification>;
  /** One portable file with the session and the lineage it needs. */
  export(): AsyncIterable<Uint8Array>;
}

const Description = z.strictObject({ title: Text.max(500).optional(), metadata: Metadata.optional() });
const Messages = z.array(Message);

/** Plain text becomes one text part; ids are given where there are none. Everything else is left for the schema to judge. */
const messageOf = (input: MessageInput): unknown => {
  if (typeof input !== 'object' || input === null) return input;
  const { id = newId('msg'), content } = input;
  return { ...input, id, content: typeof content === 'string' ? [{ type: 'text', text: content }] : content };
};

export const sessionHandle = (scope: Scope, id: SessionId): Session => {
  const key = keyOf(scope, id);
  const run = async (command: SessionCommand, options?: ExecuteOptions) => execute(scope, key, command, options);
  const move = async (command: SessionCommand): Promise<void> => {
    await run(command);
  };
  return {
    id,
    summary: async () => {
      const head = await scope.store.head(key);
      if (!head) throw sessionNotFound(key);
      return head.summary;
    },
    append: async (input, { idempotencyKey } = {}) => {
      const inputs = Array.isArray(input) ? (input as readonly MessageInput[]) : [input as MessageInput];
      const messages = parseInput('the messages', Messages, inputs.map(messageOf));
      // At once: what the caller does with its objects later changes nothing.
      const encoded = messages.map((message) => encodeValid('message.appended', { message }));
      const events = await run({ type: 'append', messages, encoded }, { idempotencyKey, body: inputs });
      return events as readonly SessionEvent<'message.appended'>[];
    },
    describe: async (about) => move({ type: 'describe', ...parseInput('the description', Description, about) }),
    events: (options) => readEvents(scope, key, options),
    transcript: (options) => readTranscript(scope, key, options),
    context: (options) => readContext(scope, key, options),
    pause: (options) => move({ type: 'pause', reason: options?.reason }),
    resume: () => move({ type: 'resume' }),
    close: (options) => move({ type: 'close', reason: options?.reason }),
    reopen: () => move({ type: 'reopen' }),
    archive: () => move({ type: 'archive' }),
    restore: () => move({ type: 'restore' }),
    fork: async (options) => sessionHandle(scope, await forkSession(scope, key, options)),
    rewind: async ({ to, reason }) => {
      const head = await scope.folds.head(key);
      const seq = await resolvePoint(scope.store, key, head, to);
      await move({ type: 'rewind', target: await scope.folds.at(key, seq), reason });
    },
    tree: () => readTree(scope, key),
    verify: () => verifySession(scope, key),
    export: () => writeBundle(scope, [id]),
  };
};
