import { PerdureError } from '../../schema/error.ts';
import { registryWorkspace, WorkspaceId } from '../../schema/ids.ts';
import { allRecords, changeRecords } from '../engine/change-records.ts';
import type { Random } from '../ports/random.ts';
import type { Records } from '../ports/records.ts';
import type { Timekeeper } from '../ports/timekeeper.ts';
import type { Secret } from '../session/redaction/redact.ts';
import { KnownSecrets } from './known-secrets.ts';
import {
  type MasterKeySource,
  makeMasterKey,
  makeNextKey,
  parseMasterKey,
  readMasterKeys,
  replaceMasterKey,
} from './master-key.ts';
import type { SealingKey } from './seal.ts';
import { type Sealer, sealerOf } from './sealer.ts';
import { type Vault, vaultOf } from './vault.ts';
import { dataKeyWrite, openDataKey, readDataKeyBody, readVault, sealDataKey } from './vault-records.ts';

interface Parts {
  readonly records: Records;
  readonly clock: Timekeeper;
  readonly random: Random;
  readonly masterKey: MasterKeySource;
  /** The secrets of the configuration, which apply to every workspace. */
  readonly configured: () => Promise<readonly Secret[]>;
}

/** A vault with secrets. `problem` says why the master key does not open it. */
export interface VaultCheck {
  readonly workspace: WorkspaceId;
  readonly problem?: string;
}

const sampledVaults = 8;

/** The vaults of all workspaces, and the secrets that this process knows. */
export class Vaults {
  readonly #parts: Parts;
  readonly #known = new Map<WorkspaceId, KnownSecrets>();
  /** The master key that a rotation received as its argument, after the start of the process. */
  #newest: SealingKey | undefined;

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  secretsOf(workspace: WorkspaceId): KnownSecrets {
    const { records, clock, configured } = this.#parts;
    const read = (known: Parameters<typeof readVault>[3]) => readVault(records, workspace, this.#masters, known);
    const secrets = this.#known.get(workspace) ?? new KnownSecrets(configured, read, clock);
    this.#known.set(workspace, secrets);
    return secrets;
  }

  vaultOf(workspace: WorkspaceId): Vault {
    const { records, clock, random } = this.#parts;
    const secrets = this.secretsOf(workspace);
    return vaultOf({
      records,
      clock,
      random,
      workspace,
      masters: this.#masters,
      secrets,
      changed: () => secrets.outdate(),
    });
  }

  sealerOf(workspace: WorkspaceId): Sealer {
    const { records, clock, random } = this.#parts;
    return sealerOf({ records, clock, random, workspace, masters: this.#masters });
  }

  /**
   * Fails with VAULT_LOCKED if secrets cannot be opened. Samples a few workspaces, because one master key seals all of
   * them.
   */
  async sample(): Promise<void> {
    const { records } = this.#parts;
    for (const { id } of await records.records(registryWorkspace, 'data-key', { limit: sampledVaults })) {
      const workspace = WorkspaceId.parse(id);
      const stored = await readDataKeyBody(records, workspace);
      if (stored) openDataKey(workspace, stored.body, await this.#masters());
    }
  }

  async makeMasterKey(): Promise<{ readonly file: string }> {
    const { given, file } = this.#parts.masterKey;
    if (given !== undefined)
      throw new PerdureError('CONFLICT', 'there is already a master key, from the options or from PERDURE_MASTER_KEY');
    await makeMasterKey(file);
    return { file };
  }

  /**
   * Encrypts every data key with a new master key: the given one (base64 of 32 bytes), or a generated one that
   * replaces the key file. Both keys are needed until it returns. If it was interrupted, call it again.
   */
  async rotateMasterKey(given?: string): Promise<{ readonly workspaces: number }> {
    const { masterKey } = this.#parts;
    if (given !== undefined) {
      const key = parseMasterKey(given, 'the new key');
      const workspaces = await this.#sealBy(key, [key, ...(await this.#masters())]);
      this.#newest = key;
      return { workspaces };
    }
    if (masterKey.given !== undefined) {
      throw new PerdureError(
        'INVALID_INPUT',
        'the master key is not in a file: pass the new key, and configure it when this is done',
      );
    }
    await this.#masters();
    const key = await makeNextKey(masterKey.file);
    const workspaces = await this.#sealBy(key, await this.#masters());
    await replaceMasterKey(masterKey.file);
    return { workspaces };
  }

  readonly #masters = async (): Promise<readonly [SealingKey, ...SealingKey[]]> => {
    const newest = this.#newest;
    if (!newest) return readMasterKeys(this.#parts.masterKey);
    return [newest, ...(await readMasterKeys(this.#parts.masterKey).catch(() => []))];
  };

  /** Opens every vault, and reports the problem of each that stays locked. */
  async check(): Promise<readonly VaultCheck[]> {
    const all = await this.#workspaces();
    return Promise.all(
      all.map(async (workspace) => {
        try {
          await readVault(this.#parts.records, workspace, this.#masters, undefined);
          return { workspace };
        } catch (error) {
          return { workspace, problem: error instanceof Error ? error.message : String(error) };
        }
      }),
    );
  }

  async #workspaces(): Promise<readonly WorkspaceId[]> {
    const all = await allRecords(this.#parts.records, registryWorkspace, 'data-key');
    return all.map(({ id }) => WorkspaceId.parse(id));
  }

  async #sealBy(key: SealingKey, masters: readonly SealingKey[]): Promise<number> {
    const { records, clock, random } = this.#parts;
    const workspaces = await this.#workspaces();
    for (const workspace of workspaces) {
      for (const { id } of await allRecords(records, workspace, 'data-key')) {
        await changeRecords({ records, workspace, clock, random }, async () => {
          const stored = await readDataKeyBody(records, workspace, id);
          if (!stored || stored.body.sealedBy === key.id) return { writes: [], result: undefined };
          const body = sealDataKey(workspace, openDataKey(workspace, stored.body, masters), key);
          return { writes: [dataKeyWrite(body, stored.version, id)], result: undefined };
        });
      }
    }
    return workspaces.length;
  }
}
