import { PerdureError } from '../schema/error.ts';
import type { Json } from '../schema/json.ts';
import type { Message, ToolOutcome, ToolResultPart } from '../schema/message.ts';
import { isReport } from '../schema/report-mark.ts';

/**
 * A condition on the conversation. It holds if every given field holds. Patterns are case-insensitive regular
 * expressions.
 */
export interface Condition {
  /** Holds if one result of the last calls has this tool, this outcome and a matching output. */
  readonly last?: { readonly tool?: string; readonly outcome?: ToolOutcome; readonly matches?: string };
  /** Holds if the newest text of the user matches. */
  readonly userMatches?: string;
  /** Holds if the script has given this many answers since the newest text of the user. */
  readonly answers?: number;
}

export interface ScriptStep {
  /** Names the step in error messages. */
  readonly name?: string;
  /** The step is skipped if this condition does not hold. */
  readonly when?: Condition;
  /** The reasoning before the answer. */
  readonly reasoning?: string;
  /** The text of the answer. */
  readonly text?: string;
  /** The tool calls of the answer. */
  readonly calls?: readonly { readonly tool: string; readonly input: Json }[];
}

/** Steps are played in order. A step whose condition does not hold is skipped. */
export interface ScriptDefinition {
  /**
   * The name of the script: letters, digits, `-` and `_`; `script` by default. Logs and listings show `scripted/NAME`
   * as the model.
   */
  readonly name?: string;
  /** One step for each answer, in order. */
  readonly steps: readonly ScriptStep[];
  /** Whether the script starts over with each text of the user. Otherwise it runs once through the whole session. */
  readonly everyTurn?: boolean;
}

/** A checked script, to be used as an agent's `model`. */
export interface Script extends ScriptDefinition {
  readonly name: string;
}

/**
 * The progress that is stored with each answer of a script, so that the next request shows how far the script has
 * come.
 */
export interface Mark {
  readonly script: string;
  /** The index of the last played step. */
  readonly step: number;
  /** The number of the answer in the conversation, from 1. */
  readonly answer: number;
}

const invalid = (script: string, problem: string) =>
  new PerdureError('INVALID_INPUT', `the script "${script}" ${problem}`, { details: { script } });

export const defineScript = (definition: ScriptDefinition): Script => {
  const script = { ...definition, name: definition?.name ?? 'script' };
  if (typeof script.name !== 'string' || !Array.isArray(script.steps))
    throw new PerdureError('INVALID_INPUT', 'expected a script as { steps }, with or without a name');
  if (!/^[a-z0-9][a-z0-9_-]*$/i.test(script.name))
    throw invalid(script.name, 'has an invalid name: use letters, digits, - or _');
  if (script.steps.length === 0) throw invalid(script.name, 'has no steps');
  for (const [index, { name, when, reasoning, text, calls = [] }] of script.steps.entries()) {
    const step = name ?? `step ${index + 1}`;
    if (!reasoning && !text && calls.length === 0)
      throw invalid(script.name, `has no reasoning, text or calls in ${step}`);
    for (const pattern of [when?.userMatches, when?.last?.matches]) {
      try {
        new RegExp(pattern ?? '', 'i');
      } catch {
        throw invalid(script.name, `has a pattern in ${step} that is not a regular expression: ${pattern}`);
      }
    }
  }
  return script;
};

/** The progress of a conversation, derived only from its messages. */
export interface Place {
  readonly mark: Mark | undefined;
  readonly user: Extract<Message, { role: 'user' }> | undefined;
  readonly results: readonly ToolResultPart[];
  readonly answersSinceUser: number;
  readonly answers: number;
}

const markOf = (message: Message | undefined, script: string): Mark | undefined => {
  for (const { provider } of message?.content ?? []) {
    const mark = (provider as { scripted?: Mark } | undefined)?.scripted;
    if (mark?.script === script) return mark;
  }
  return undefined;
};

/** Whether this is what a model had begun to say before its answer broke off. */
const isBrokenOff = ({ content }: Message): boolean =>
  content.some(({ provider }) => (provider as { perdure?: { brokenOff?: boolean } } | undefined)?.perdure?.brokenOff);

export const placeIn = (all: readonly Message[], script: string): Place => {
  // A report of the runtime is no text of the user, so a script goes on where it was.
  const messages = all.filter((message) => !isBrokenOff(message) && !isReport(message));
  const lastUser = messages.findLastIndex(({ role }) => role === 'user');
  const lastAnswer = messages.findLastIndex(({ role }) => role === 'assistant');
  const user = messages[lastUser];
  const isAnswer = ({ role }: Message) => role === 'assistant';
  return {
    mark: markOf(
      messages.findLast((message) => markOf(message, script)),
      script,
    ),
    user: user?.role === 'user' ? user : undefined,
    results:
      lastAnswer < lastUser
        ? []
        : messages.slice(lastAnswer + 1).flatMap((each) => (each.role === 'tool' ? each.content : [])),
    answersSinceUser: messages.slice(lastUser + 1).filter(isAnswer).length,
    answers: messages.filter(isAnswer).length,
  };
};

const matches = (pattern: string | undefined, text: string) =>
  pattern === undefined || new RegExp(pattern, 'i').test(text);
const textOf = (output: Json) => (typeof output === 'string' ? output : JSON.stringify(output));
const userText = ({ user }: Place) =>
  (user?.content ?? []).map((part) => (part.type === 'text' ? part.text : '')).join('\n');

const holds = ({ last, userMatches, answers }: Condition, place: Place): boolean => {
  if (answers !== undefined && answers !== place.answersSinceUser) return false;
  if (!matches(userMatches, userText(place))) return false;
  return (
    last === undefined ||
    place.results.some(
      ({ tool, outcome, output }) =>
        (last.tool ?? tool) === tool && (last.outcome ?? outcome) === outcome && matches(last.matches, textOf(output)),
    )
  );
};

export interface Turn {
  /** The index of the last played step, or -1 before the first. */
  readonly played: number;
  /** The index of the step to play. Undefined if no remaining step fits. */
  readonly step: number | undefined;
}

export const nextStep = ({ steps, everyTurn }: Script, place: Place): Turn => {
  const beginsAnew = everyTurn === true && place.answersSinceUser === 0;
  const played = beginsAnew ? -1 : (place.mark?.step ?? -1);
  const found = steps.findIndex(({ when = {} }, index) => index > played && holds(when, place));
  return { played, step: found < 0 ? undefined : found };
};
