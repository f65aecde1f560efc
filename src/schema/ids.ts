import { z } from 'zod';

/**
 * The prefix of an id names its kind. The rest is 48 bits of milliseconds and 80 random bits in Crockford's base 32,
 * so that ids sort by time.
 */
const alphabet = '0123456789abcdefghjkmnpqrstvwxyz';
const idBody = /^[0-7][0-9a-hjkmnp-tv-z]{25}$/;

export type SessionId = `ses_${string}` & z.$brand<'SessionId'>;
export type RunId = `run_${string}` & z.$brand<'RunId'>;
export type CallId = `call_${string}` & z.$brand<'CallId'>;
export type ApprovalId = `apr_${string}` & z.$brand<'ApprovalId'>;
export type MessageId = `msg_${string}` & z.$brand<'MessageId'>;
export type WebhookId = `whk_${string}` & z.$brand<'WebhookId'>;
export type KeyId = `key_${string}` & z.$brand<'KeyId'>;
export type AuditId = `aud_${string}` & z.$brand<'AuditId'>;
export type NoteId = `note_${string}` & z.$brand<'NoteId'>;
export type VerificationId = `ver_${string}` & z.$brand<'VerificationId'>;

interface IdOf {
  ses: SessionId;
  run: RunId;
  call: CallId;
  apr: ApprovalId;
  msg: MessageId;
  whk: WebhookId;
  key: KeyId;
  aud: AuditId;
  note: NoteId;
  ver: VerificationId;
}
export type IdPrefix = keyof IdOf;

export const isId = (prefix: IdPrefix, text: unknown): boolean =>
  typeof text === 'string' && text.startsWith(`${prefix}_`) && idBody.test(text.slice(prefix.length + 1));

const idSchema = <P extends IdPrefix>(prefix: P) =>
  z
    .custom<IdOf[P]>((text) => isId(prefix, text), {
      error: `expected an id such as ${prefix}_01jd3v8m9k5x7q2w4e6r8t0y1a`,
    })
    .meta({ type: 'string', examples: [`${prefix}_01jd3v8m9k5x7q2w4e6r8t0y1a`] });

export const SessionId = idSchema('ses');
export const RunId = idSchema('run');
export const CallId = idSchema('call');
export const ApprovalId = idSchema('apr');
export const MessageId = idSchema('msg');
export const WebhookId = idSchema('whk');
export const KeyId = idSchema('key');
export const AuditId = idSchema('aud');
export const NoteId = idSchema('note');
export const VerificationId = idSchema('ver');

const base32 = (bytes: Uint8Array): string => {
  let text = '';
  let bits = 0;
  let value = 0;
  for (const byte of bytes) {
    value = (value << 8) | byte;
    bits += 8;
    while (bits >= 5) {
      bits -= 5;
      text += alphabet[(value >>> bits) & 31];
    }
  }
  return text;
};

const timeText = (ms: number): string => {
  let text = '';
  for (let rest = ms, i = 0; i < 10; i++, rest = Math.floor(rest / 32)) text = alphabet[rest % 32] + text;
  return text;
};

/** When an id was created, by the clock of the process that created it. */
export const idTime = (id: string): number => {
  const text = id.slice(id.indexOf('_') + 1);
  let ms = 0;
  for (let at = 0; at < 10; at++) ms = ms * 32 + alphabet.indexOf(text[at]!);
  return ms;
};

let lastMs = -1;
const randomPart = new Uint8Array(10);

/** Random bytes for many ids, because a call of `getRandomValues` takes as long for few bytes as for many. */
const randomPool = new Uint8Array(200 * randomPart.length);
let poolUsed = randomPool.length;

const drawRandomPart = (): void => {
  if (poolUsed === randomPool.length) {
    crypto.getRandomValues(randomPool);
    poolUsed = 0;
  }
  randomPart.set(randomPool.subarray(poolUsed, poolUsed + randomPart.length));
  poolUsed += randomPart.length;
};

/**
 * Creates an id. Uses the platform's randomness, and by default its clock, instead of the ports. Ids must differ
 * between all processes on a store, and no decision depends on them. Within one millisecond the random part counts up,
 * so that the ids of one process sort in the order of creation.
 */
export const newId = <P extends IdPrefix>(prefix: P, nowMs: number = Date.now()): IdOf[P] => {
  if (nowMs > lastMs) {
    lastMs = nowMs;
    drawRandomPart();
    randomPart[0]! &= 0x7f; // leaves room to count up
  } else {
    for (let i = 9; i >= 0 && ++randomPart[i]! > 255; i--);
  }
  return `${prefix}_${timeText(lastMs)}${base32(randomPart)}` as IdOf[P];
};

/** The tenant's name. It is lower case, so that no two workspaces differ only by case. */
export const WorkspaceId = z
  .string()
  .regex(/^[a-z0-9][a-z0-9_-]{0,62}$/, {
    error: 'expected 1 to 63 lower-case letters, digits, - or _, beginning with a letter or digit',
  })
  .brand<'WorkspaceId'>();
export type WorkspaceId = z.infer<typeof WorkspaceId>;

/** The internal workspace that holds the list of workspaces. `WorkspaceId` rejects its name. */
export const registryWorkspace = '.registry' as WorkspaceId;

export const MemberId = z
  .string()
  .regex(/^[A-Za-z0-9][A-Za-z0-9_.@+-]{0,127}$/, {
    error: 'expected 1 to 128 letters, digits or _ . @ + -, beginning with a letter or digit',
  })
  .brand<'MemberId'>();
export type MemberId = z.infer<typeof MemberId>;

/**
 * The writer of an event: `system`, a kind and a name, or `outside` for changes that the runtime found but did not
 * cause. A member of another store, whom a bundle names, is `foreign`. Printable ASCII without spaces, because an actor is one line of the hashed header.
 */
export const Actor = z
  .string()
  .regex(/^(system|outside|(member|agent|tool|importer|foreign):[!-~]{1,200})$/, {
    error: 'expected system, outside, member:NAME, agent:NAME, tool:NAME, importer:NAME or foreign:NAME',
  })
  .brand<'Actor'>();
export type Actor = z.infer<typeof Actor>;

export const memberActor = (member: MemberId): Actor => `member:${member}` as Actor;
/** The actor of an event from a bundle, as this store reads it. A bundle can name anybody, so its members are foreign. */
export const actorOfImported = (actor: Actor): Actor => actor.replace(/^member:/, 'foreign:') as Actor;
export const systemActor = 'system' as Actor;
export const outsideActor = 'outside' as Actor;
