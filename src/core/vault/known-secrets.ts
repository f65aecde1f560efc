import { PerdureError } from '../../schema/error.ts';
import type { Secrets } from '../engine/scope.ts';
import type { Timekeeper } from '../ports/timekeeper.ts';
import { type Redactor, redactorOf, type Secret } from '../session/redaction/redact.ts';

/** The content of a vault at one version. */
export interface VaultContent {
  readonly version: number;
  readonly secrets: readonly Secret[];
  /** The master keys. They are redacted like secrets, but never passed to tools. */
  readonly masterKeys: readonly Secret[];
}

interface Known extends VaultContent {
  readonly redactor: Redactor;
}

/** The maximum delay until this process knows a secret that another process added. */
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
  readonly #clock: Pick<Timekeeper, 'elapsed'>;
  #known: Known | undefined;
  #lookedAt = Number.NEGATIVE_INFINITY;
  #looking: Promise<Known> | undefined;

  /** `read` receives the known content, and returns the same object if that is still the newest content. */
  constructor(
    configured: () => Promise<readonly Secret[]>,
    read: (known: VaultContent | undefined) => Promise<VaultContent>,
    clock: Pick<Timekeeper, 'elapsed'>,
  ) {
    this.#clock = clock;
    this.#configured = configured;
    this.#read = read;
  }

  async redactor(): Promise<Redactor> {
    const isNew = this.#known && this.#clock.elapsed() - this.#lookedAt < maxAgeMs;
    // A caller that arrives during a refresh waits for it, so that callers keep their order.
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

  /** Returns the problem with all secrets redacted that are known so far. */
  tellable(problem: unknown): unknown {
    const redactor = this.#known?.redactor;
    if (!redactor) return problem;
    if (!(problem instanceof Error)) return redactor.text(String(problem));
    const { message, stack = '', cause } = problem;
    if (redactor.text(stack + message) === stack + message && cause === undefined) return problem;
    const redacted = Object.create(Object.getPrototypeOf(problem), Object.getOwnPropertyDescriptors(problem)) as Error;
    const fields = {
      message: redactor.text(message),
      stack: redactor.text(stack),
      ...(cause !== undefined && { cause: this.tellable(cause) }),
    };
    for (const [name, value] of Object.entries(fields)) {
      Object.defineProperty(redacted, name, { value, writable: true, configurable: true });
    }
    return redacted;
  }

  /** Call this after a change of the vault. Later callers wait for a new refresh, even if one is in progress. */
  outdate(): void {
    this.#looking = undefined;
    this.#lookedAt = Number.NEGATIVE_INFINITY;
  }

  #look(): Promise<Known> {
    if (this.#looking) return this.#looking;
    const startedAt = this.#clock.elapsed();
    const looking = this.#lookNow();
    this.#looking = looking;
    const settle = (known?: Known): void => {
      if (this.#looking !== looking) return;
      this.#looking = undefined;
      if (!known) return;
      this.#known = known;
      this.#lookedAt = startedAt;
    };
    looking.then(settle, () => settle());
    return looking;
  }

  async #lookNow(): Promise<Known> {
    const known = this.#known;
    const content = await this.#read(known);
    if (known && content === known) return known;
    return {
      ...content,
      redactor: redactorOf([...content.secrets, ...content.masterKeys, ...(await this.#configured())]),
    };
  }
}
