import { z } from 'zod';
import { PerdureError } from '../../schema/error.ts';
import { Text } from '../../schema/json.ts';
import { leastSecretChars } from '../../schema/least-secret-chars.ts';
import { parseInput } from '../../schema/parse-input.ts';
import { type SecretInfo, SecretName } from '../../schema/secret-info.ts';
import { allRecords, type ChangeAccess, changeRecords } from '../engine/change-records.ts';
import { refuseSecrets } from '../engine/refuse-secrets.ts';
import type { Secrets } from '../engine/scope.ts';
import type { RecordWrite } from '../ports/records.ts';
import { newSealingKey } from './seal.ts';
import {
  type DataKey,
  dataKeyWrite,
  enlist,
  type MasterKeys,
  openDataKey,
  openSecret,
  readDataKeyBody,
  SecretBody,
  sealDataKey,
  sealSecret,
} from './vault-records.ts';

/** Credentials of a workspace, only for its tools. No verb returns a value. */
export interface Vault {
  /** Adds a secret or replaces its value. From then on the value is kept out of logs, previews, files and models. */
  set(name: string, value: string, options?: { readonly about?: string | undefined }): Promise<SecretInfo>;
  /** The names and descriptions of all secrets, sorted by name. Never a value. */
  list(): Promise<readonly SecretInfo[]>;
  /**
   * Removes a secret. From then on its value is not redacted. This needs no master key, so that a vault whose key is
   * lost can be cleared.
   */
  remove(name: string): Promise<void>;
  /** Creates a new data key and encrypts every secret with it. */
  rotate(): Promise<{ readonly secrets: number }>;
}

const Value = Text.min(leastSecretChars, {
  error: `is shorter than ${leastSecretChars} characters, so redaction would also hit ordinary words: use a longer one`,
}).max(32 * 1024);
const Options = z.strictObject({ about: Text.max(500).optional() });

const infoOf = (name: string, body: unknown): SecretInfo => {
  const { about, createdAt, changedAt } = SecretBody.parse(body);
  return { name, ...(about !== undefined && { about }), createdAt, changedAt };
};

const notFound = (name: string): PerdureError =>
  new PerdureError(
    'SECRET_NOT_FOUND',
    `there is no secret ${name} in this workspace: \`perdure vault ls\` lists them`,
    { details: { secret: name } },
  );

const refuseValueIn = (about: 'the name' | 'the description', text: string, value: string): void => {
  if (!text.includes(value)) return;
  throw new PerdureError(
    'INVALID_INPUT',
    `${about} contains the value, and it is stored in plain text: choose another`,
  );
};

export interface VaultParts extends ChangeAccess {
  readonly masters: MasterKeys;
  readonly secrets: Pick<Secrets, 'redactor'>;
  /** Called after each change. */
  changed(): void;
}

/**
 * Returns the vault of a workspace. Every change also writes the data key, so that no change uses a key that was
 * replaced meanwhile. The data key is removed with the last secret.
 */
export const vaultOf = (parts: VaultParts): Vault => {
  const { records, workspace, clock, masters, secrets, changed } = parts;
  const dataKey = async (): Promise<DataKey> => {
    const known = await masters();
    const stored = await readDataKeyBody(records, workspace);
    if (stored) return { ...stored, key: openDataKey(workspace, stored.body, known) };
    await enlist(records, workspace);
    const key = newSealingKey();
    return { key, body: sealDataKey(workspace, key, known[0]), version: 0 };
  };

  const change = async <T>(decide: Parameters<typeof changeRecords<T>>[1]): Promise<T> => {
    const result = await changeRecords(parts, decide);
    changed();
    return result;
  };

  return {
    set: async (name, value, options = {}) => {
      parseInput('the name', SecretName, name);
      parseInput('the value', Value, value);
      const { about } = parseInput('the secret', Options, options);
      refuseValueIn('the name', name, value);
      refuseValueIn('the description', about ?? '', value);
      await refuseSecrets(secrets, 'what the secret is for', name, about);
      return change(async () => {
        const { key, body: keyBody, version } = await dataKey();
        const before = await records.record(workspace, 'secret', name);
        const now = clock.now();
        const createdAt = before ? SecretBody.parse(before.body).createdAt : now;
        const sealed = sealSecret(workspace, name, key, value);
        const body = { ...(about !== undefined && { about }), createdAt, changedAt: now, sealed };
        const write: RecordWrite = { kind: 'secret', id: name, onVersion: before?.version ?? 0, body };
        return { writes: [dataKeyWrite(keyBody, version), write], result: infoOf(name, body) };
      });
    },
    list: async () => (await allRecords(records, workspace, 'secret')).map(({ id, body }) => infoOf(id, body)),
    remove: async (name) => {
      parseInput('the name', SecretName, name);
      await change(async () => {
        const stored = await readDataKeyBody(records, workspace);
        const all = await allRecords(records, workspace, 'secret');
        const before = all.find(({ id }) => id === name);
        if (!stored || !before) throw notFound(name);
        const keyBody = all.length > 1 ? stored.body : undefined;
        const write: RecordWrite = { kind: 'secret', id: name, onVersion: before.version, body: undefined };
        return { writes: [dataKeyWrite(keyBody, stored.version), write], result: undefined };
      });
    },
    rotate: () =>
      change(async () => {
        const { key: old, version } = await dataKey();
        const key = newSealingKey();
        const all = await allRecords(records, workspace, 'secret');
        const writes = all.map((each): RecordWrite => {
          const sealed = sealSecret(workspace, each.id, key, openSecret(workspace, old, each));
          const body = { ...SecretBody.parse(each.body), sealed };
          return { kind: 'secret', id: each.id, onVersion: each.version, body: JSON.parse(JSON.stringify(body)) };
        });
        const body = sealDataKey(workspace, key, (await masters())[0]);
        return { writes: [dataKeyWrite(body, version), ...writes], result: { secrets: all.length } };
      }),
  };
};
