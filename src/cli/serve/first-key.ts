import { backoffMs } from '../../concurrency/backoff.ts';
import { pause } from '../../concurrency/pause.ts';
import type { Runtime } from '../../runtime.ts';
import { isPerdureError } from '../../schema/error.ts';
import { keepKey } from '../names/kept-key.ts';
import type { Context } from '../parse/command.ts';

export interface FirstKey {
  readonly token: string;
  /** In the data folder. Where that cannot be written it is shown instead. */
  readonly isKept: boolean;
}

const backoff = { firstMs: 100, maxMs: 100 };

type Registry = Pick<Awaited<ReturnType<Context['runtime']>>, 'members' | 'keys'>;

/** Of several first starts at once, one that finds no other key beside its own has the one that counts; who finds another gives way. */
const makeOnly = async ({ members, keys }: Registry): Promise<string | undefined> => {
  const isUsed = (await keys.list()).length > 0;
  if (isUsed) return undefined;
  await members.add({ id: 'local', role: 'admin' }).catch((error) => {
    if (!isPerdureError(error, 'CONFLICT')) throw error; // it is there already
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

/** Of the first start on a store: nobody could ask otherwise. Made when all else has succeeded, since it is told this once. */
export const firstKey = async (context: Context, runtime: Runtime): Promise<FirstKey | undefined> => {
  const token = await makeOnly(await context.runtime());
  if (token === undefined) return undefined;
  const isKept = await keepKey(runtime.data, token).then(
    () => true,
    () => false,
  );
  return { token, isKept };
};
