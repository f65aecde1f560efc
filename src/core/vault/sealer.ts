import { isPerdureError } from '../../schema/error.ts';
import { type ChangeAccess, changeRecords } from '../engine/change-records.ts';
import { vaultLocked } from './master-key.ts';
import { newSealingKey, type SealingKey, seal, unseal } from './seal.ts';
import { dataKeyWrite, enlist, type MasterKeys, openDataKey, readDataKeyBody, sealDataKey } from './vault-records.ts';

/**
 * Encrypts internal values of a workspace that are not in its vault. It uses a separate data key, so that a process
 * without the master key can still do everything else.
 */
export interface Sealer {
  /** Encrypts a text. Returns undefined if there is no master key. */
  seal(name: string, text: string): Promise<string | undefined>;
  open(name: string, sealed: string): Promise<string>;
}

const keyId = 'own';

export const sealerOf = (parts: ChangeAccess & { readonly masters: MasterKeys }): Sealer => {
  const { records, workspace, masters } = parts;
  const about = (name: string): readonly string[] => ['own', workspace, name];
  const dataKey = (): Promise<SealingKey> =>
    changeRecords(parts, async () => {
      const known = await masters();
      const stored = await readDataKeyBody(records, workspace, keyId);
      if (stored) return { writes: [], result: openDataKey(workspace, stored.body, known) };
      await enlist(records, workspace);
      const key = newSealingKey();
      return { writes: [dataKeyWrite(sealDataKey(workspace, key, known[0]), 0, keyId)], result: key };
    });
  return {
    seal: async (name, text) => {
      try {
        return seal(await dataKey(), about(name), Buffer.from(text));
      } catch (error) {
        if (isPerdureError(error, 'VAULT_LOCKED')) return undefined;
        throw error;
      }
    },
    open: async (name, sealed) => {
      const key = await dataKey();
      try {
        return unseal(key, about(name), sealed).toString();
      } catch {
        throw vaultLocked(`the sealed value of ${name} in ${workspace} is damaged: create it again`);
      }
    },
  };
};
