import { isId } from './ids.ts';
import { jsonProblem, textProblem } from './json-problem.ts';
import { toolOutcomes } from './message.ts';

type Fields = Readonly<Record<string, unknown>>;

const isFields = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
const hasOnly = (value: Fields, names: ReadonlySet<string>): boolean =>
  Object.keys(value).every((name) => names.has(name));
const isText = (value: unknown): value is string => typeof value === 'string' && textProblem(value) === undefined;
const isName = (value: unknown): boolean => isText(value) && value.length > 0 && value.length <= 200;
const isJson = (value: unknown): boolean => jsonProblem(value) === undefined;
const isProvider = ({ provider }: Fields): boolean => provider === undefined || isJson(provider);

const saidFields = new Set(['type', 'text', 'provider']);
const callFields = new Set(['type', 'callId', 'tool', 'input', 'provider']);
const resultFields = new Set(['type', 'callId', 'tool', 'outcome', 'output', 'provider', 'untrusted']);

const isSaid = (part: Fields): boolean => hasOnly(part, saidFields) && isText(part.text) && isProvider(part);
const isCall = (part: Fields): boolean =>
  hasOnly(part, callFields) && isName(part.callId) && isName(part.tool) && isJson(part.input) && isProvider(part);
const isResult = (part: Fields): boolean =>
  hasOnly(part, resultFields) &&
  isName(part.callId) &&
  isName(part.tool) &&
  (toolOutcomes as readonly unknown[]).includes(part.outcome) &&
  isJson(part.output) &&
  (part.untrusted === undefined || typeof part.untrusted === 'boolean') &&
  isProvider(part);

const isPart = (role: unknown, part: unknown): boolean => {
  if (!isFields(part)) return false;
  if (part.type === 'text') return role !== 'tool' && isSaid(part);
  if (part.type === 'reasoning') return role === 'assistant' && isSaid(part);
  if (part.type === 'tool-call') return role === 'assistant' && isCall(part);
  return part.type === 'tool-result' && role === 'tool' && isResult(part);
};

const roles: ReadonlySet<unknown> = new Set(['system', 'user', 'assistant', 'tool']);
const fields = new Set(['id', 'role', 'content']);

const repeatsCall = (parts: readonly Fields[]): boolean => {
  const ids = parts.flatMap(({ type, callId }) => (type === 'tool-call' ? [callId] : []));
  return new Set(ids).size < ids.length;
};

/**
 * Whether this is certainly a valid message. Opening a session validates many messages, and in a fresh process the
 * schema is many times slower than this check. False means that only the schema can decide, for example about a
 * message with files.
 */
export const isPlainMessage = (value: unknown): boolean => {
  if (!isFields(value) || !hasOnly(value, fields)) return false;
  const { id, role, content } = value;
  if (!isId('msg', id) || !roles.has(role) || !Array.isArray(content)) return false;
  if (content.length === 0 && role !== 'assistant') return false;
  return content.every((part) => isPart(role, part)) && !repeatsCall(content);
};
