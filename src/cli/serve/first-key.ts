import { backoffMs } from '../../concurrency/backoff.ts';
import { pause } from '../../concurrency/pause.ts';
import type { Runtime } from '../../runtime.ts';
import { isPerdureError } from '../../schema/error.ts';
import { keepKey } from '../names/kept-key.ts';
import type { Context } from '../parse/command.ts';

export interface FirstKey {
  readonly token: string;
  /** Whether the key was saved in the data folder. If the folder is not writable, the key is shown instead. */
  readonly isKept: boolean;
}

const backoff = { firstMs: 100, maxMs: 100 };

type Registry = Pick<Awaited<ReturnType<Context['runtime']>>, 'members' | 'keys'>;

/**
 * Creates a key and revokes it again if another valid key exists. Several servers may start on a new store at the
 * same time, and only one of them may keep its key.
 */
const makeOnly = async ({ members, keys }: Registry): Promise<string | undefined> => {
  const isUsed = (await keys.list()).length > 0;
  if (isUsed) return undefined;
  await members.add({ id: 'local', role: 'admin' }).catch((error) => {
    if (!isPerdureError(error, 'CONFLICT')) throw error; // the member already exists
  });
  for (;;) {
    const { key, token } = await keys.create({ member: 'local', role: 'admin', name: 'first' });
    const isOther = ({ id, revokedAt }: { readonly id: string; readonly revokedAt?: number | undefined }): boolean =>
      id !== key.id && revokedAt === undefined;
    if (!(await keys.list()).some(isOther)) return token;
    await keys.revoke(key.id);
    await pause(backoffMs(1, backoff, Math.random));
    if ((await keys.list()).some(isOther)) return undefined;
  }
};

/**
 * Creates the first key of a new store, without which no client could send requests. It runs last, because the key is
 * shown only once.
 */
export const firstKey = async (context: Context, runtime: Runtime): Promise<FirstKey | undefined> => {
  const token = await makeOnly(await context.runtime());
  if (token === undefined) return undefined;
  const isKept = await keepKey(runtime.data, token).then(
    () => true,
    () => false,
  );
  return { token, isKept };
};
