import type {
  LanguageModelV4File,
  LanguageModelV4StreamPart,
  LanguageModelV4ToolCall,
  SharedV4ProviderMetadata,
} from '@ai-sdk/provider';
import type { ModelDelta } from '../core/ports/model.ts';
import type { Json } from '../schema/json.ts';
import { jsonProblem } from '../schema/json-problem.ts';
import type { AssistantPart } from '../schema/message.ts';
import { storable } from './storable.ts';

export type FinishPart = Extract<LanguageModelV4StreamPart, { type: 'finish' }>;
type Metadata = SharedV4ProviderMetadata | undefined;

interface Block {
  readonly type: 'text' | 'reasoning';
  text: string;
  metadata: Metadata;
}

const noted = (metadata: Metadata): { provider?: Json } => {
  if (metadata === undefined) return {};
  const provider = JSON.parse(JSON.stringify(metadata));
  return jsonProblem(provider) ? {} : { provider };
};

const merged = (old: Metadata, metadata: Metadata): Metadata => {
  if (!old || !metadata) return metadata ?? old;
  const sum = { ...old };
  for (const [provider, notes] of Object.entries(metadata)) sum[provider] = { ...sum[provider], ...notes };
  return sum;
};

/** Keeps an input that is not JSON as text, so that the tool can report what is wrong with it. */
const inputOf = (text: string): Json => {
  if (text.trim() === '') return {};
  try {
    const input = JSON.parse(text);
    if (!jsonProblem(input)) return input;
  } catch {}
  return storable(text);
};

const partOfFile = ({ mediaType, data, providerMetadata }: LanguageModelV4File): AssistantPart => {
  if (data.type === 'url') return { type: 'text', text: storable(`${mediaType}: ${data.url.href}`) };
  const bytes = typeof data.data === 'string' ? Buffer.from(data.data, 'base64') : Buffer.from(data.data);
  return {
    type: 'file',
    mediaType: storable(mediaType.slice(0, 200)),
    data: bytes.toString('base64'),
    ...noted(providerMetadata),
  };
};

export interface Collector {
  add(part: LanguageModelV4StreamPart): void;
  readonly finish: FinishPart | undefined;
  parts(): readonly AssistantPart[];
}

export interface CollectorBound {
  /** The maximum bytes that are kept of an answer. */
  readonly maxBytes: number;
  /** The maximum parts of the stream, because parts without text take time and memory too. */
  readonly maxParts: number;
  readonly failure: () => Error;
}

/** The memory of a part beside its text. */
const partBytes = 100;

const metadataBytes = (metadata: Metadata): number => (metadata ? JSON.stringify(metadata).length : 0);

/** The bytes that the collector keeps of a part. The inputs of calls count when the call is complete. */
const keptBytes = (part: LanguageModelV4StreamPart): number => {
  switch (part.type) {
    case 'text-delta':
    case 'reasoning-delta':
      return Buffer.byteLength(part.delta) + metadataBytes(part.providerMetadata);
    case 'text-start':
    case 'text-end':
    case 'reasoning-start':
    case 'reasoning-end':
      return partBytes + metadataBytes(part.providerMetadata);
    case 'tool-call':
      return partBytes + Buffer.byteLength(part.input) + metadataBytes(part.providerMetadata);
    case 'file':
      return partBytes + (part.data.type === 'data' ? part.data.data.length : 0) + metadataBytes(part.providerMetadata);
    default:
      return 0;
  }
};

/** Assembles an answer from its stream, with the parts in the order in which they began. */
export const collectAnswer = (
  callIdFor: (given: string) => string,
  onDelta: (delta: ModelDelta) => void,
  { maxBytes, maxParts, failure }: CollectorBound,
): Collector => {
  const parts: (Block | AssistantPart)[] = [];
  const open = new Map<string, Block>();
  let finish: FinishPart | undefined;
  let bytes = 0;
  let count = 0;

  const blockOf = (type: Block['type'], id: string, metadata: Metadata): Block => {
    const key = `${type} ${id}`;
    const block = open.get(key) ?? { type, text: '', metadata: undefined };
    if (!open.has(key)) parts.push(block);
    open.set(key, block);
    block.metadata = merged(block.metadata, metadata);
    return block;
  };
  const write = (type: Block['type'], id: string, delta: string, metadata: Metadata) => {
    blockOf(type, id, metadata).text += delta;
    if (delta !== '') onDelta({ kind: type, text: delta });
  };
  const end = (type: Block['type'], id: string, metadata: Metadata) => {
    blockOf(type, id, metadata);
    open.delete(`${type} ${id}`);
  };
  const call = ({ toolCallId, toolName, input, providerExecuted, providerMetadata }: LanguageModelV4ToolCall) => {
    if (providerExecuted) return;
    const tool = storable(toolName.slice(0, 200)) || 'unnamed';
    parts.push({
      type: 'tool-call',
      callId: callIdFor(toolCallId),
      tool,
      input: inputOf(input),
      ...noted(providerMetadata),
    });
  };

  const toPart = (part: Block | AssistantPart): AssistantPart[] => {
    if (!('metadata' in part)) return [part];
    const { type, text, metadata } = part;
    const isEmpty = text === '' && (type === 'text' || metadata === undefined);
    return isEmpty ? [] : [{ type, text: storable(text), ...noted(metadata) }];
  };

  return {
    add(part) {
      bytes += keptBytes(part);
      count++;
      if (bytes > maxBytes || count > maxParts) throw failure();
      switch (part.type) {
        case 'text-start':
          blockOf('text', part.id, part.providerMetadata);
          break;
        case 'text-delta':
          write('text', part.id, part.delta, part.providerMetadata);
          break;
        case 'text-end':
          end('text', part.id, part.providerMetadata);
          break;
        case 'reasoning-start':
          blockOf('reasoning', part.id, part.providerMetadata);
          break;
        case 'reasoning-delta':
          write('reasoning', part.id, part.delta, part.providerMetadata);
          break;
        case 'reasoning-end':
          end('reasoning', part.id, part.providerMetadata);
          break;
        case 'tool-input-delta':
          if (part.delta !== '') onDelta({ kind: 'tool-input', text: part.delta });
          break;
        case 'tool-call':
          call(part);
          break;
        case 'file':
          parts.push(partOfFile(part));
          break;
        case 'finish':
          finish = part;
      }
    },
    get finish() {
      return finish;
    },
    parts: () => parts.flatMap(toPart),
  };
};
