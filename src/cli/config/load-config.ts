import { existsSync, statSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { PerdureError } from '../../schema/error.ts';
import { suggestion } from '../one-of.ts';
import { wrongCall } from '../wrong-call.ts';
import type { Agent, Config } from './config.ts';
import { giveOwnImports } from './own-imports.ts';
import { runConfig } from './running-config.ts';

const fileNames = ['perdure.config.ts', 'perdure.config.mjs', 'perdure.config.js'];
const fields = ['agents', 'models', 'store', 'data'];
const form = 'export default { agents: [defineAgent({ … })] }';

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
    throw wrongCall(`${shown} names no agents: write ${form}`);
  }
  const other = agents.findIndex((agent) => !isAgent(agent));
  if (other < 0) return agents;
  throw new PerdureError('AGENT_INVALID', `agents[${other}] of ${shown} was not made by defineAgent: write ${form}`, {
    details: { file: shown, index: other },
  });
};

const checkFields = (shown: string, given: object): void => {
  const unknown = Object.keys(given).find((name) => !fields.includes(name));
  if (unknown === undefined) return;
  const meant = suggestion(unknown, fields, (name) => `"${name}"`);
  throw wrongCall(`${shown} has ${fields.join(', ')}, and not "${unknown}"${meant}`);
};

const checkText = (shown: string, name: string, value: unknown): void => {
  if (value !== undefined && typeof value !== 'string') throw wrongCall(`${name} of ${shown} has to be text`);
};

const checked = (shown: string, file: string, given: unknown): Config => {
  if (typeof given !== 'object' || given === null) throw wrongCall(`${shown} has no default export: write ${form}`);
  checkFields(shown, given);
  const { agents, models, store, data } = given as Partial<Config>;
  checkText(shown, 'data', data);
  if (typeof store !== 'object') checkText(shown, 'store', store);
  return {
    agents: checkAgents(shown, agents),
    file,
    ...(models && { models }),
    ...(store && { store }),
    ...(data !== undefined && { data: resolve(dirname(file), data) }),
  };
};

/** Before it is run: Node would say of other files that it knows no such extension. */
const refuseOther = (named: string, file: string): void => {
  if (statSync(file).isDirectory()) {
    const held = fileNames.find((name) => existsSync(resolve(file, name)));
    throw wrongCall(`--config names the folder ${named}: name the file in it${held ? `, ${join(named, held)}` : ''}`);
  }
  if (/\.[cm]?[jt]s$/.test(file)) return;
  throw wrongCall(`${named}, which --config names, is no .ts, .mjs or .js: name one that says ${form}`);
};

/** The file that is named, or that the folder has. */
export const findConfig = (folder: string, named: string | undefined): string | undefined => {
  if (named === undefined) return fileNames.map((name) => resolve(folder, name)).find(existsSync);
  const file = resolve(folder, named);
  if (!existsSync(file)) {
    throw new PerdureError(
      'FILE_UNAVAILABLE',
      `there is no file ${named}, which --config names: name one that is there, or leave --config out to use ${fileNames[0]} of this folder`,
      { details: { file: named } },
    );
  }
  refuseOther(named, file);
  return file;
};

/** Runs the file: it is a program of whoever wrote it. */
export const loadConfig = async (file: string, from: string): Promise<Config> => {
  const shown = relative(from, file) || file;
  const url = pathToFileURL(file).href;
  const loaded: { default?: unknown } = await runConfig(
    { shown, from, written: giveOwnImports(url) },
    () => import(url),
  );
  return checked(shown, file, loaded.default);
};
