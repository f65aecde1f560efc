import { PerdureError } from '../../../schema/error.ts';
import { type Redactor, redactorOf, type Secret } from '../../session/redact.ts';
import type { Secrets } from '../scope.ts';

/** What a vault holds, and how often it was changed until then. */
export interface VaultContent {
  readonly version: number;
  readonly secrets: readonly Secret[];
  /** No tool is given them. */
  readonly masterKeys: readonly Secret[];
}

interface Known extends VaultContent {
  readonly redactor: Redactor;
}

/** What another process puts into the vault is known here after this long at the latest. */
const maxAgeMs = 1000;

const notFound = (name: string): PerdureError =>
  new PerdureError(
    'SECRET_NOT_FOUND',
    `there is no secret ${name} in this workspace: add it with \`perdure vault set ${name}\``,
    {
      details: { secret: name },
    },
  );

/** The secrets of a workspace: those of its vault and those that the configuration names. */
export class KnownSecrets implements Secrets {
  readonly #configured: () => Promise<readonly Secret[]>;
  readonly #read: (known: VaultContent | undefined) => Promise<VaultContent>;
  #known: Known | undefined;
  #lookedAt = Number.NEGATIVE_INFINITY;
  #looking: Promise<Known> | undefined;

  /** `read` gives back what is known where that is the newest. */
  constructor(
    configured: () => Promise<readonly Secret[]>,
    read: (known: VaultContent | undefined) => Promise<VaultContent>,
  ) {
    this.#configured = configured;
    this.#read = read;
  }

  async redactor(): Promise<Redactor> {
    const isNew = this.#known && performance.now() - this.#lookedAt < maxAgeMs;
    // Who comes while somebody looks waits too, so that nobody overtakes.
    return (isNew && !this.#looking ? this.#known! : await this.#look()).redactor;
  }

  async valuesOf(names: readonly string[]): Promise<Readonly<Record<string, string>>> {
    if (names.length === 0) return {};
    const { secrets } = await this.#look();
    return Object.fromEntries(
      names.map((name) => {
        const found = secrets.find((secret) => secret.name === name);
        if (!found) throw notFound(name);
        return [name, found.value];
      }),
    );
  }

  /** After a change of the vault. */
  async renew(): Promise<void> {
    await this.#looking?.catch(() => undefined);
    await this.#look();
  }

  #look(): Promise<Known> {
    this.#looking ??= this.#lookNow().finally(() => {
      this.#looking = undefined;
    });
    return this.#looking;
  }

  async #lookNow(): Promise<Known> {
    const startedAt = performance.now();
    const content = await this.#read(this.#known);
    if (content !== this.#known) {
      const redactor = redactorOf([...content.secrets, ...content.masterKeys, ...(await this.#configured())]);
      this.#known = { ...content, redactor };
    }
    this.#lookedAt = startedAt;
    return this.#known!;
  }
}
