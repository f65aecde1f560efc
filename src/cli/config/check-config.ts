import { dirname, resolve } from 'node:path';
import { agentRegistry } from '../../core/session/agent.ts';
import { checkModels, modelsFields } from '../../models/check-models.ts';
import { isPerdureError, PerdureError } from '../../schema/error.ts';
import { deeperText } from '../../schema/field-problem.ts';
import { parseStore } from '../../stores/parse-store.ts';
import { suggestion } from '../parse/one-of.ts';
import { wrongCall } from '../parse/wrong-call.ts';
import type { Agent, Config } from './config.ts';
import { configForm } from './config-form.ts';

const fields = ['agents', 'models', 'store', 'data'];

/** Runs a check of the runtime and adds the file name to its error message. */
const byRuntime = (shown: string, check: () => unknown): void => {
  try {
    check();
  } catch (cause) {
    if (!isPerdureError(cause)) throw cause;
    throw new PerdureError(cause.code, `${shown}: ${cause.message}`, { details: cause.details, cause });
  }
};

const isAgent = (value: unknown): value is Agent => {
  const { name, tools, schemaHash, problems } = (value ?? {}) as Partial<Agent>;
  return (
    typeof name === 'string' &&
    typeof tools?.get === 'function' &&
    typeof schemaHash === 'string' &&
    typeof problems === 'function'
  );
};

const checkAgents = (shown: string, agents: unknown): readonly Agent[] => {
  if (!Array.isArray(agents) || agents.length === 0) {
    throw wrongCall(`${shown} names no agents: write ${configForm}`);
  }
  const other = agents.findIndex((agent) => !isAgent(agent));
  if (other >= 0) {
    throw new PerdureError(
      'AGENT_INVALID',
      `agents[${other}] of ${shown} was not made by defineAgent: write ${configForm}`,
      {
        details: { file: shown, index: other },
      },
    );
  }
  byRuntime(shown, () => agentRegistry(agents));
  return agents;
};

const checkFields = (shown: string, given: object): void => {
  const unknown = Object.keys(given).find((name) => !fields.includes(name));
  if (unknown === undefined) return;
  const meant = deeperText(unknown, { models: modelsFields }) || suggestion(unknown, fields, (name) => `"${name}"`);
  throw wrongCall(`${shown} takes ${fields.join(', ')}, but not "${unknown}"${meant}`);
};

const checkText = (shown: string, name: string, value: unknown): void => {
  if (value !== undefined && typeof value !== 'string') throw wrongCall(`${name} of ${shown} must be text`);
};

const otherKindOf = (given: unknown): string | undefined => {
  if (given === null) return 'null';
  if (given instanceof Promise) return 'a promise';
  if (Array.isArray(given)) return 'a list';
  return typeof given === 'object' ? undefined : `a ${typeof given}`;
};

const checkExport = (shown: string, given: unknown): void => {
  if (given === undefined) throw wrongCall(`${shown} has no default export: write ${configForm}`);
  const kind = otherKindOf(given);
  if (kind) throw wrongCall(`${shown} exports ${kind} by default, not an object: write ${configForm}`);
};

/** Validates the default export of a configuration before any of it is used. */
export const checkConfig = (shown: string, file: string, given: unknown): Config => {
  checkExport(shown, given);
  checkFields(shown, given as object);
  const { agents, models, store, data } = given as Partial<Config>;
  checkText(shown, 'data', data);
  if (models !== undefined) byRuntime(shown, () => checkModels(models));
  if (store !== undefined) byRuntime(shown, () => parseStore(store));
  return {
    agents: checkAgents(shown, agents),
    file,
    ...(models && { models }),
    ...(store && { store }),
    ...(data !== undefined && { data: resolve(dirname(file), data) }),
  };
};
