import type { Runtime } from '../../runtime.ts';
import { isPerdureError } from '../../schema/error.ts';
import type { Context } from '../command.ts';
import { keepKey } from '../kept-key.ts';

export interface FirstKey {
  readonly token: string;
  /** In the data folder. Where that cannot be written it is shown instead. */
  readonly isKept: boolean;
}

/** Of the first start on a store: nobody could ask otherwise. Made when all else has succeeded, since it is told this once. */
export const firstKey = async (context: Context, runtime: Runtime): Promise<FirstKey | undefined> => {
  const { members, keys } = await context.runtime();
  if ((await keys.list()).length > 0) return undefined;
  await members.add({ id: 'local', role: 'admin' }).catch((error) => {
    if (!isPerdureError(error, 'CONFLICT')) throw error; // it is there already
  });
  const { key, token } = await keys.create({ member: 'local', role: 'admin', name: 'first' });
  // Of two first starts at once the key that came first stays, and who made it tells it.
  const [first] = await keys.list();
  if (first?.id !== key.id) {
    await keys.revoke(key.id);
    return undefined;
  }
  const isKept = await keepKey(runtime.data, token).then(
    () => true,
    () => false,
  );
  return { token, isKept };
};
