import { realpath } from 'node:fs/promises';
import { isAbsolute, relative, resolve, sep } from 'node:path';
import type { TaintedFiles } from '../../schema/taint.ts';
import { findEntry, treeReader } from '../files/read-tree.ts';
import { treeOf } from '../files/tree.ts';
import type { SessionFold } from '../session/fold.ts';
import { everyFile } from '../session/state/file-entries.ts';
import type { RunContext } from './run-context.ts';
import type { ReadyCall } from './run-tool.ts';

/** Some file systems treat names as equal that differ in case or in the form of a letter. */
const plain = (path: string): string => path.normalize('NFC').toLowerCase();

/** Whether a path, or a file below it, is among the tainted ones. An empty path is the whole folder. */
const isCovered = (path: string, { paths }: TaintedFiles): boolean => {
  const wanted = plain(path);
  return paths.map(plain).some((each) => {
    if (each === everyFile || wanted === '' || each === wanted) return true;
    return each.startsWith(`${wanted}/`) || (each.endsWith('/') && `${wanted}/`.startsWith(each));
  });
};

/** The path within the folder that a name leads to, through links too. Undefined if it leads out of the folder. */
const pathWithin = async (folder: string, name: string): Promise<string | undefined> => {
  const root = await realpath(folder).catch(() => folder);
  const wanted = resolve(root, name);
  const way = relative(root, await realpath(wanted).catch(() => wanted));
  return way === '..' || way.startsWith(`..${sep}`) || isAbsolute(way) ? undefined : way.split(sep).join('/');
};

const readsTaintedFile = async (run: RunContext, fold: SessionFold, name: string): Promise<boolean> => {
  const path = await pathWithin(run.files.place.folder, name);
  if (path === undefined) return false; // The file tools refuse it.
  const { files, isUnlisted } = fold.taint;
  if (files.all || isCovered(path, files)) return true;
  if (!isUnlisted || path === '') return false;
  return (await findEntry(treeReader(run.scope.blobs), treeOf(fold), path.split('/'))) === undefined;
};

/**
 * Whether a call may have read a file that was written in a tainted context. A tool that does not say what it reads may
 * read all files, and a command also those that no snapshot lists.
 */
export const readsTaintedFiles = async (
  run: RunContext,
  fold: SessionFold,
  { tool, value }: ReadyCall,
): Promise<boolean> => {
  const { files, isUnlisted } = fold.taint;
  const hasFiles = files.all === true || files.paths.length > 0;
  if (!tool.usesFiles || !(hasFiles || isUnlisted)) return false;
  if (!tool.reads) return hasFiles || tool.confinement !== undefined;
  const read = await Promise.all(tool.reads(value as never).map((name) => readsTaintedFile(run, fold, name)));
  return read.includes(true);
};

/** Whether `recall` may return what was said in a tainted context. */
export const recallsTaint = ({ taint, happened }: SessionFold): boolean =>
  taint.since !== undefined || (happened?.calls ?? []).some(({ tainted }) => tainted);
