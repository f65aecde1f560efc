import { existsSync, statSync } from 'node:fs';
import { join, relative, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { PerdureError } from '../../schema/error.ts';
import { wrongCall } from '../parse/wrong-call.ts';
import type { Config } from './config.ts';
import { configForm } from './config-form.ts';
import { giveOwnImports } from './own-imports.ts';
import { runConfig } from './running-config.ts';

const fileNames = ['perdure.config.ts', 'perdure.config.mjs', 'perdure.config.js'];

/**
 * Runs code of the configuration. Inside it, `process.exit` throws instead of ending the process without an
 * explanation.
 */
const withoutExit = async <T>(run: () => Promise<T>): Promise<T> => {
  const { exit } = process;
  process.exit = (code) => {
    throw new Error(`it ends the process with process.exit(${code ?? ''})`);
  };
  try {
    return await run();
  } finally {
    process.exit = exit;
  }
};

const isFolder = (path: string): boolean => statSync(path).isDirectory();

/**
 * Refuses files that Node cannot import. Checked here, because Node's own error about an unknown extension would not
 * help.
 */
const refuseOther = (named: string, file: string): void => {
  if (isFolder(file)) {
    const held = fileNames.find((name) => existsSync(resolve(file, name)));
    throw wrongCall(`--config names the folder ${named}: name the file in it${held ? `, ${join(named, held)}` : ''}`);
  }
  if (/\.[cm]?[jt]s$/.test(file)) return;
  throw wrongCall(`${named}, which --config names, is not a .ts, .mjs or .js file: name one that says ${configForm}`);
};

const configIn = (folder: string): string | undefined => {
  const name = fileNames.find((each) => existsSync(resolve(folder, each)));
  if (name === undefined) return undefined;
  const file = resolve(folder, name);
  if (!isFolder(file)) return file;
  throw wrongCall(`${name} is a folder, not a configuration: rename it, or name the file with --config`);
};

/** Path of the named configuration, or of the one in the folder. Undefined if there is none. */
export const findConfig = (folder: string, named: string | undefined): string | undefined => {
  if (named === undefined) return configIn(folder);
  const file = resolve(folder, named);
  if (!existsSync(file)) {
    throw new PerdureError(
      'FILE_NOT_FOUND',
      `there is no file ${named}, which --config names: name one that exists, or leave --config out to use ${fileNames[0]} in this folder`,
      { details: { file: named } },
    );
  }
  refuseOther(named, file);
  return file;
};

/** The path relative to the current folder, as a person would write it. */
export const configName = (file: string, from: string): string => relative(from, file) || file;

/** Imports and validates the configuration file. This runs arbitrary code of its author. */
export const loadConfig = async (file: string, from: string): Promise<Config> => {
  const shown = configName(file, from);
  const url = pathToFileURL(file).href;
  const loaded: { default?: unknown } = await runConfig({ shown, from, written: giveOwnImports(url) }, () =>
    withoutExit(() => import(url)),
  );
  const { checkConfig } = await import('./check-config.ts');
  return checkConfig(shown, file, loaded.default);
};
