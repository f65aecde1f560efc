import { z } from 'zod';
import { registryWorkspace, type WorkspaceId } from '../../schema/ids.ts';
import { allRecords } from '../engine/change-records.ts';
import type { Records, RecordWrite, StoredRecord } from '../ports/records.ts';
import type { Secret } from '../session/redaction/redact.ts';
import type { VaultContent } from './known-secrets.ts';
import { vaultLocked } from './master-key.ts';
import { type SealingKey, seal, sealingKey, unseal } from './seal.ts';

/** Reads the master keys. The first one is used for sealing. */
export type MasterKeys = () => Promise<readonly [SealingKey, ...SealingKey[]]>;

/**
 * The id of the data key's record. The record is rewritten with every change of the vault, so that its version shows
 * whether the vault changed.
 */
const dataKeyId = 'current';
const DataKeyBody = z.strictObject({ id: z.string(), sealedBy: z.string(), sealed: z.string() });
export type DataKeyBody = z.infer<typeof DataKeyBody>;

export const SecretBody = z.strictObject({
  about: z.string().optional(),
  createdAt: z.number(),
  changedAt: z.number(),
  sealed: z.string(),
});
export type SecretBody = z.infer<typeof SecretBody>;

export interface DataKey {
  readonly key: SealingKey;
  readonly body: DataKeyBody;
  /** The version of the record, or 0 if the key is not stored yet. */
  readonly version: number;
}

const aboutKey = (workspace: WorkspaceId): readonly string[] => ['data-key', workspace];
const aboutSecret = (workspace: WorkspaceId, name: string): readonly string[] => ['secret', workspace, name];

/** Registers a workspace before it gets a data key, so that a rotation of the master key finds all data keys. */
export const enlist = async (records: Records, workspace: WorkspaceId): Promise<void> => {
  await records.writeRecords(registryWorkspace, [{ kind: 'data-key', id: workspace, onVersion: 0, body: {} }]);
};

export const sealDataKey = (workspace: WorkspaceId, key: SealingKey, master: SealingKey): DataKeyBody => ({
  id: key.id,
  sealedBy: master.id,
  sealed: seal(master, aboutKey(workspace), key.bytes),
});

export const readDataKeyBody = async (
  records: Records,
  workspace: WorkspaceId,
  id = dataKeyId,
): Promise<{ readonly body: DataKeyBody; readonly version: number } | undefined> => {
  const stored = await records.record(workspace, 'data-key', id);
  return stored && { body: DataKeyBody.parse(stored.body), version: stored.version };
};

export const openDataKey = (
  workspace: WorkspaceId,
  { sealedBy, sealed }: DataKeyBody,
  masters: readonly SealingKey[],
): SealingKey => {
  const master = masters.find(({ id }) => id === sealedBy);
  if (!master)
    throw vaultLocked(`the secrets of ${workspace} were sealed with another master key (${sealedBy}): use that key`);
  try {
    return sealingKey(unseal(master, aboutKey(workspace), sealed));
  } catch {
    throw vaultLocked(`the data key of ${workspace} is damaged: restore it from a backup`);
  }
};

/** Writes the data key. An undefined body removes it. */
export const dataKeyWrite = (body: DataKeyBody | undefined, onVersion: number, id = dataKeyId): RecordWrite => ({
  kind: 'data-key',
  id,
  onVersion,
  body: body && { ...body },
});

export const sealSecret = (workspace: WorkspaceId, name: string, key: SealingKey, value: string): string =>
  seal(key, aboutSecret(workspace, name), Buffer.from(value));

export const openSecret = (workspace: WorkspaceId, key: SealingKey, { id: name, body }: StoredRecord): string => {
  try {
    return unseal(key, aboutSecret(workspace, name), SecretBody.parse(body).sealed).toString();
  } catch {
    throw vaultLocked(`the secret ${name} of ${workspace} is damaged: set it again, or remove it`);
  }
};

const asSecrets = (masters: readonly SealingKey[]): readonly Secret[] =>
  masters.map(({ bytes }) => ({ name: 'PERDURE_MASTER_KEY', value: Buffer.from(bytes).toString('base64') }));

/** Returns a consistent copy of the vault. Returns `before` itself if nothing has changed. */
export const readVault = async (
  records: Records,
  workspace: WorkspaceId,
  masters: MasterKeys,
  before: VaultContent | undefined,
): Promise<VaultContent> => {
  for (;;) {
    const stored = await readDataKeyBody(records, workspace);
    const version = stored?.version ?? 0;
    if (before?.version === version) return before;
    // An empty vault needs no master key. If there is a master key, it is redacted nevertheless.
    if (!stored) return { version, secrets: [], masterKeys: asSecrets(await masters().catch(() => [])) };
    const known = await masters();
    const key = openDataKey(workspace, stored.body, known);
    const all = await allRecords(records, workspace, 'secret');
    if ((await readDataKeyBody(records, workspace))?.version !== version) continue;
    return {
      version,
      secrets: all.map((each) => ({ name: each.id, value: openSecret(workspace, key, each) })),
      masterKeys: asSecrets(known),
    };
  }
};
