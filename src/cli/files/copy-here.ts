import { chmod, readdir, symlink, writeFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { makeFolder } from '../../core/host/make-folder.ts';
import type { Session } from '../../core/runtime/session.ts';
import type { CopiedFiles } from '../../core/session-files/copy-files.ts';
import { parseFilePath } from '../../core/session-files/file-path.ts';
import type { ListedFile } from '../../core/session-files/read-files.ts';
import { PerdureError } from '../../schema/error.ts';
import { fileError } from '../parse/wrong-call.ts';

type Where = Parameters<Session['files']['list']>[0];

const makeEmpty = async (folder: string): Promise<void> => {
  await makeFolder(folder);
  if ((await readdir(folder)).length === 0) return;
  throw new PerdureError('FILE_UNAVAILABLE', `${folder} is not empty: name a new or empty folder`, {
    details: { folder },
  });
};

/** Whether an entry is a link. Links are created last, so that no file is written through one. */
const isLink = ({ kind }: ListedFile): boolean => kind === 'link';

/** Downloads files into a new or empty folder. Their paths come from the server, so they are validated. */
export const copyHere = async (
  { files }: Session,
  to: string,
  { path, ...where }: NonNullable<Where>,
): Promise<CopiedFiles> => {
  const folder = resolve(to);
  const listed = await files.list({ path, ...where });
  const all = listed.map((file) => ({ ...file, path: parseFilePath(file.path).path }));
  let copied = 0;
  try {
    await makeEmpty(folder);
    for (const file of [...all.filter((each) => !isLink(each)), ...all.filter(isLink)]) {
      const target = join(folder, file.path);
      await makeFolder(file.kind === 'folder' ? target : dirname(target));
      if (file.kind === 'folder') continue;
      if (file.kind === 'link') await symlink(file.target, target);
      else {
        await writeFile(target, await files.read(file.path, where), { flag: 'wx' });
        await chmod(target, file.mode);
      }
      copied++;
    }
    for (const file of all.toReversed()) if (file.kind === 'folder') await chmod(join(folder, file.path), file.mode);
  } catch (error) {
    throw fileError(error, 'write', to);
  }
  return { folder, files: copied };
};
