import { z } from 'zod';
import { listOf } from './bounded.ts';
import { effectKinds, repeatPolicies } from './effect-kinds.ts';
import { MessageId } from './ids.ts';
import { Json, Text } from './json.ts';

/** Data that the provider needs back verbatim to resume a turn, such as signed reasoning or encrypted content. */
const provider = Json.optional();
/**
 * The id that a model assigned to its tool call. Any short text is valid, because loops outside Perdure use their own
 * formats.
 */
export const ToolCallId = Text.min(1).max(200);

export const toolOutcomes = [
  'ok',
  'timeout',
  'threw',
  'denied',
  'invalid_input',
  'unknown_tool',
  'interrupted',
  'cancelled',
] as const;
export const ToolOutcome = z.enum(toolOutcomes);
export type ToolOutcome = z.infer<typeof ToolOutcome>;

/** The origin of a result that the tool itself did not return in this run: its `reconcile`, a recording or a person. */
export const resultSources = ['reconcile', 'replay', 'person'] as const;
export const ResultSource = z.enum(resultSources);
export type ResultSource = z.infer<typeof ResultSource>;

/** What running a call twice would do. */
export const Effects = z.enum(effectKinds);
export type Effects = z.infer<typeof Effects>;

export const RepeatPolicy = z.enum(repeatPolicies);
export type RepeatPolicy = z.infer<typeof RepeatPolicy>;

const TextPart = z.strictObject({ type: z.literal('text'), text: Text, provider }).meta({ id: 'TextPart' });
const ReasoningPart = z
  .strictObject({ type: z.literal('reasoning'), text: Text, provider })
  .meta({ id: 'ReasoningPart' });
const FilePart = z
  .strictObject({
    type: z.literal('file'),
    mediaType: Text.max(200),
    name: Text.max(500).optional(),
    data: z.base64(),
    provider,
  })
  .meta({ id: 'FilePart' });
const ToolCallPart = z
  .strictObject({
    type: z.literal('tool-call'),
    callId: ToolCallId,
    tool: Text.min(1).max(200),
    input: Json,
    provider,
  })
  .meta({ id: 'ToolCallPart' });
const ToolResultPart = z
  .strictObject({
    type: z.literal('tool-result'),
    callId: ToolCallId,
    tool: Text.min(1).max(200),
    outcome: ToolOutcome,
    output: Json,
    provider,
    /**
     * Whether the result comes from outside. A context marks such a result as data. In an append, false says that the
     * tool does not read the outside world.
     */
    untrusted: z.boolean().optional(),
  })
  .meta({ id: 'ToolResultPart' });

export const UserPart = z.discriminatedUnion('type', [TextPart, FilePart]);
export const AssistantPart = z.discriminatedUnion('type', [TextPart, ReasoningPart, FilePart, ToolCallPart]);
export type AssistantPart = z.infer<typeof AssistantPart>;
export type FilePart = z.infer<typeof FilePart>;
export type ToolCallPart = z.infer<typeof ToolCallPart>;
export type ToolResultPart = z.infer<typeof ToolResultPart>;

/** Why an answer broke off: the run was cancelled, its worker stopped, or the model failed. */
export const brokenOffReasons = ['cancelled', 'stopped', 'failed'] as const;
export type BrokenOff = (typeof brokenOffReasons)[number];
/** What was shown of an answer that broke off. Without provider data, because that comes with a complete part. */
export const BrokenContent = listOf(z.discriminatedUnion('type', [TextPart, ReasoningPart]), { min: 1, max: 2 });
export type BrokenContent = z.infer<typeof BrokenContent>;

const maxParts = 10_000;
export const someParts = { min: 1, max: maxParts } as const;

/** Call ids must be unique in a message, because a result names its call only by id. */
const AssistantParts = listOf(AssistantPart, { max: maxParts }).superRefine((parts, context) => {
  const seen = new Set<string>();
  for (const [place, part] of parts.entries()) {
    if (part.type !== 'tool-call') continue;
    if (seen.has(part.callId)) {
      context.addIssue({ code: 'custom', path: [place, 'callId'], message: 'is used twice' });
      return;
    }
    seen.add(part.callId);
  }
});

/**
 * One message of a transcript. A tool call is part of an assistant message, and its result is part of a tool message.
 */
export const Message = z
  .discriminatedUnion(
    'role',
    [
      z.strictObject({ id: MessageId, role: z.literal('system'), content: listOf(TextPart, someParts) }),
      z.strictObject({ id: MessageId, role: z.literal('user'), content: listOf(UserPart, someParts) }),
      z.strictObject({ id: MessageId, role: z.literal('assistant'), content: AssistantParts }),
      z.strictObject({ id: MessageId, role: z.literal('tool'), content: listOf(ToolResultPart, someParts) }),
    ],
    { error: ({ input }) => (typeof input === 'object' && input ? undefined : 'expected { role, content }') },
  )
  .meta({ id: 'Message' });
export type Message = z.infer<typeof Message>;
export type Role = Message['role'];

/** A message as callers write it. Plain text means one text part, and the runtime fills in a missing id. */
type Written<M> = M extends { role: infer R; content: (infer Part)[] }
  ? { readonly role: R; readonly id?: MessageId; readonly content: readonly Part[] }
  : never;
export type MessageInput =
  | Written<Message>
  | { readonly role: 'system' | 'user' | 'assistant'; readonly id?: MessageId; readonly content: string };
