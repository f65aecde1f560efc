import type { Model, ModelDelta, ModelRequest } from '../core/ports/model.ts';
import type { Json } from '../schema/json.ts';
import type { AssistantPart } from '../schema/message.ts';
import { defaultContextTokens } from './from-language-model.ts';
import {
  defineScript,
  type Mark,
  nextStep,
  type Place,
  placeIn,
  type Script,
  type ScriptDefinition,
  type ScriptStep,
} from './script.ts';

export interface ScriptedOptions {
  readonly contextTokens?: number | undefined;
  /** Called and awaited before each word. */
  readonly pause?: ((signal: AbortSignal) => Promise<unknown>) | undefined;
}

const nothingToSay = ({ name, steps }: Script, played: number): ScriptStep => ({
  text: `This is the script "${name}", not a model: ${played + 1 < steps.length ? 'no step of it answers this' : 'it is over'}.`,
});

/**
 * A suffix from the id of the user message, which makes call ids unique across turns even if the context lacks earlier
 * turns.
 */
const tailOf = ({ user }: Place): string => (user ? `_${user.id.slice(-6)}` : '');

const partsOf = ({ reasoning, text, calls = [] }: ScriptStep, mark: Mark, place: Place): AssistantPart[] => {
  const provider = { scripted: { ...mark } } satisfies Json;
  return [
    ...(reasoning ? [{ type: 'reasoning' as const, text: reasoning, provider }] : []),
    ...(text ? [{ type: 'text' as const, text, provider }] : []),
    ...calls.map(({ tool, input }, index) => ({
      type: 'tool-call' as const,
      callId: `call_s${mark.answer}_${index + 1}${tailOf(place)}`,
      tool,
      input,
      provider,
    })),
  ];
};

const deltasOf = (part: AssistantPart): ModelDelta[] => {
  switch (part.type) {
    case 'text':
    case 'reasoning':
      return (part.text.match(/\s*\S+\s*|\s+/g) ?? []).map((text) => ({ kind: part.type, text }));
    case 'tool-call':
      return [{ kind: 'tool-input', text: JSON.stringify(part.input) }];
    case 'file':
      return [];
  }
};

const tokensOf = (value: unknown): number => Math.ceil(JSON.stringify(value).length / 4);

const play = (script: Script, { messages }: ModelRequest): readonly AssistantPart[] => {
  const place = placeIn(messages, script.name);
  const { played, step } = nextStep(script, place);
  const answer = Math.max(place.mark?.answer ?? 0, place.answers) + 1;
  const mark = { script: script.name, step: step ?? played, answer };
  return partsOf(step === undefined ? nothingToSay(script, played) : script.steps[step]!, mark, place);
};

/** The offline model. It is deterministic: equal messages get the same answer, on any worker and after any crash. */
export const scriptedModel = (definition: ScriptDefinition, options: ScriptedOptions = {}): Model => {
  const script = defineScript(definition);
  return {
    name: `scripted/${script.name}`,
    contextTokens: options.contextTokens ?? defaultContextTokens,
    price: { input: 0, output: 0 },
    async answer(request, onDelta) {
      const parts = play(script, request);
      for (const delta of parts.flatMap(deltasOf)) {
        await options.pause?.(request.signal);
        request.signal.throwIfAborted();
        onDelta(delta);
      }
      const inputTokens = tokensOf([request.instructions, request.messages]);
      return {
        parts,
        finish: parts.some(({ type }) => type === 'tool-call') ? 'tool-calls' : 'stop',
        usage: { inputTokens, outputTokens: tokensOf(parts), usd: 0 },
      };
    },
  };
};
