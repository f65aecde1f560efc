import type { StandardSchemaV1 } from '@standard-schema/spec';
import type { ApprovalRule } from '../core/ports/tool.ts';
import { repeatPolicies } from '../schema/effect-kinds.ts';
import { fieldProblem } from '../schema/field-problem.ts';
import { memberRoles } from '../schema/member-roles.ts';
import { isSecretName } from '../schema/secret-name.ts';
import { longestTimerMs } from '../schema/timer-limit.ts';

const isFunction = (value: unknown): boolean => typeof value === 'function';
const isBoolean = (value: unknown): boolean => typeof value === 'boolean';
const isCount = (value: unknown): boolean => Number.isSafeInteger(value) && (value as number) >= 0;
const isWait = (value: unknown): boolean => isCount(value) && (value as number) <= longestTimerMs;
const isTime = (value: unknown): boolean => isWait(value) && value !== 0;
const ifAny =
  (check: (value: unknown) => boolean) =>
  (value: unknown): boolean =>
    value === undefined || check(value);

const isSchema = (value: unknown): boolean => {
  const schema = (value as Partial<StandardSchemaV1> | null | undefined)?.['~standard'];
  return isFunction(schema?.validate);
};

const isRetry = (value: unknown): boolean => {
  if (fieldProblem(value, { times: true, backoffMs: true })) return false;
  const { times, backoffMs } = value as { times?: unknown; backoffMs?: unknown };
  return isCount(times) && ifAny(isWait)(backoffMs);
};

const areRoles = (value: unknown): boolean =>
  Array.isArray(value) && value.length > 0 && value.every((role) => memberRoles.includes(role));

export const isRule = (value: unknown): value is boolean | ApprovalRule => {
  if (isBoolean(value)) return true;
  if (fieldProblem(value, { roles: true, notRequester: true, expiresInMs: true })) return false;
  const { roles, notRequester, expiresInMs } = value as Record<keyof ApprovalRule, unknown>;
  return ifAny(areRoles)(roles) && ifAny(isBoolean)(notRequester) && ifAny(isTime)(expiresInMs);
};

const functionIfAny = { check: ifAny(isFunction), wanted: 'a function' };
const fields: Readonly<Record<string, { check: (value: unknown) => boolean; wanted: string }>> = {
  input: { check: isSchema, wanted: 'a schema, such as z.object({ … })' },
  effects: {
    check: ifAny((value) => ['none', 'idempotent', 'once'].includes(value as string)),
    wanted: 'none, idempotent or once',
  },
  repeat: {
    check: ifAny((value) => repeatPolicies.some((policy) => policy === value)),
    wanted: 'ask, deny or allow',
  },
  confined: { check: ifAny(isBoolean), wanted: 'true or false' },
  secrets: {
    check: ifAny((value) => Array.isArray(value) && value.every(isSecretName)),
    wanted: 'a list of names of secrets',
  },
  usesFiles: { check: ifAny(isBoolean), wanted: 'true or false' },
  timeoutMs: { check: ifAny(isTime), wanted: `a whole number from 1 to ${longestTimerMs}` },
  retry: { check: ifAny(isRetry), wanted: '{ times, backoffMs? } with whole numbers' },
  trusted: { check: ifAny(isBoolean), wanted: 'true or false' },
  untrusted: { check: ifAny(isBoolean), wanted: 'true or false' },
  safeWhenTainted: { check: ifAny(isBoolean), wanted: 'true or false' },
  reads: functionIfAny,
  approval: {
    check: ifAny((value) => isFunction(value) || isRule(value)),
    wanted: `true, false, { roles?, notRequester?, expiresInMs? } with roles of ${memberRoles.join(', ')}, or a function that returns one of these`,
  },
  execute: { check: isFunction, wanted: 'a function' },
  reconcile: functionIfAny,
  summarize: functionIfAny,
  files: functionIfAny,
  decisions: functionIfAny,
  change: functionIfAny,
  question: functionIfAny,
  handoff: functionIfAny,
};

/**
 * Validates a tool definition without zod, because programs define tools at startup and loading the schemas would slow
 * that down.
 */
export const toolProblem = (definition: object): string | undefined => {
  const given = definition as Readonly<Record<string, unknown>>;
  const wrong = Object.entries(fields).find(([name, { check }]) => !check(given[name]));
  return wrong && `${wrong[0]} is not ${wrong[1].wanted}`;
};
