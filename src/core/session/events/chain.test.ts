import { describe, expect, test } from 'vitest';
import type { EventHeader } from '../../../schema/event.ts';
import type { StoredEvent } from '../../ports/store.ts';
import { blobHash, eventHash, genesisHash, headerText, linkProblem, payloadDigest } from './chain.ts';

const bytesFrom = (start: number, length: number): Uint8Array => Uint8Array.from({ length }, (_, i) => start + i);
const utf8 = (text: string): Uint8Array => new TextEncoder().encode(text);

/**
 * The expected hashes, computed independently with Python's hashlib. If one of them had to change, every existing log
 * would fail to verify.
 */
const vectors: readonly {
  readonly header: Record<keyof EventHeader, string | number | undefined>;
  readonly salt: Uint8Array;
  readonly payload: Uint8Array;
  readonly digest: string;
  readonly hash: string;
}[] = [
  {
    header: {
      session: 'ses_01jd3v8m9k5x7q2w4e6r8t0y1a',
      seq: 1,
      at: 1_700_000_000_000,
      turn: 0,
      run: undefined,
      type: 'session.opened',
      version: 1,
      actor: 'member:ada@example.com',
    },
    salt: bytesFrom(0, 16),
    payload: utf8('{"title":"First"}'),
    digest: '3785c4698bf97113124ff3e63959bd3dd38929ce1b452ca0fb70d3ae41725015',
    hash: '6ba9234864ef6480de80131ee54d5ea0b05d39320376e0a276051bc837e0f530',
  },
  {
    header: {
      session: 'ses_01jd3v8m9k5x7q2w4e6r8t0y1a',
      seq: 2,
      at: 1_700_000_000_001,
      turn: 1,
      run: 'run_01jd3v8m9k5x7q2w4e6r8t0y1b',
      type: 'message.appended',
      version: 3,
      actor: 'agent:coder',
    },
    salt: bytesFrom(16, 16),
    payload: utf8('{"text":"Grüße ☃ 𝄞"}'),
    digest: 'e3ea5bc2a3496b075ba6742de7905d8d50bc63c377f2799404d4a8cc6f27ca4a',
    hash: 'b3e31007720a355c526db2b88d207fbc8855655b3952a03482a42c03c449ddd7',
  },
  {
    header: {
      session: 'ses_01jd3v8m9k5x7q2w4e6r8t0y1a',
      seq: 3,
      at: 1_700_000_000_001,
      turn: 1,
      run: undefined,
      type: 'custom.noted',
      version: 1,
      actor: 'system',
    },
    salt: new Uint8Array(16).fill(255),
    payload: new Uint8Array(0),
    digest: '5ac6a5945f16500911219129984ba8b387a06f24fe383ce4e81a73294065461b',
    hash: '28f509b557abf20179dfa32cbe81718b70084ceca8c7d1f9dc86345c5910bd2d',
  },
  {
    header: {
      session: 'ses_01jd3v8m9k5x7q2w4e6r8t0y1c',
      seq: 4,
      at: 1_700_000_000_500,
      turn: 1,
      run: undefined,
      type: 'session.forked',
      version: 1,
      actor: 'system',
    },
    salt: new Uint8Array(16),
    payload: bytesFrom(0, 256),
    digest: 'aa24f5bed52c5709f360b8f0865b2ed03bad9fbed75bd6354ff33ed4bb3b2d03',
    hash: '39ba0f849ea3a306310a53d8d993b2e406cfa8599d22bf651177a51c8f88ac26',
  },
];

const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex');
const unhex = (text: string): Uint8Array => Uint8Array.from(Buffer.from(text, 'hex'));

/** The vectors as a log: three events of a root session, and the first event of a fork at the third. */
const log: readonly StoredEvent[] = vectors.map(({ header, salt, payload, hash }) => ({
  ...(header as unknown as EventHeader),
  opensTurn: false,
  body: { kind: 'bytes', salt, bytes: payload },
  hash: unhex(hash),
}));

const previousOf = (index: number) => (index === 0 ? { seq: 0, hash: genesisHash } : log[index - 1]!);

describe('the hash chain', () => {
  test('[HASH1] the header has one line per field, and an absent run is an empty line', () => {
    expect(headerText(log[0]!)).toBe(
      'perdure.event.1\nses_01jd3v8m9k5x7q2w4e6r8t0y1a\n1\n1700000000000\n0\n\nsession.opened\n1\nmember:ada@example.com\n',
    );
    expect(headerText(log[1]!)).toBe(
      'perdure.event.1\nses_01jd3v8m9k5x7q2w4e6r8t0y1a\n2\n1700000000001\n1\nrun_01jd3v8m9k5x7q2w4e6r8t0y1b\nmessage.appended\n3\nagent:coder\n',
    );
  });

  test('[HASH5] the previous hash of the first event is 32 zero bytes', () => {
    expect(hex(genesisHash)).toBe('00'.repeat(32));
  });

  for (const [index, { header, salt, payload, digest, hash }] of vectors.entries()) {
    test(`[HASH1] the test vector of seq ${header.seq} holds`, () => {
      expect(hex(payloadDigest(salt, payload))).toBe(digest);
      expect(hex(eventHash(previousOf(index).hash, log[index]!, unhex(digest)))).toBe(hash);
      expect(linkProblem(previousOf(index), log[index]!)).toBeUndefined();
    });
  }

  test('[HASH1] a blob is named by its SHA-256', () => {
    expect(hex(blobHash(new Uint8Array(0)))).toBe('e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855');
    expect(hex(blobHash(utf8('perdure')))).toBe('e5e3a6af2266aa7cfc43288f98c1ccd35fb4429857293ffe1f5d1dba5c64339e');
  });

  test('[HASH2] the hash does not depend on the workspace, the flag that opens a turn, or the storage encoding', () => {
    const [, , event] = log;
    const kept = { ...event!, opensTurn: true, workspace: 'elsewhere', body: { ...event!.body, encoding: 2 } };
    expect(linkProblem(log[1]!, kept as StoredEvent)).toBeUndefined();
  });

  test('[HASH3] a redacted payload leaves the chain verifiable', () => {
    for (const [index, { digest }] of vectors.entries()) {
      const redacted: StoredEvent = { ...log[index]!, body: { kind: 'redacted', digest: unhex(digest) } };
      expect(linkProblem(previousOf(index), redacted)).toBeUndefined();
      if (log[index + 1]) expect(linkProblem(redacted, log[index + 1]!)).toBeUndefined();
    }
  });

  test('[HASH3] a redaction with a wrong digest breaks the chain', () => {
    const redacted: StoredEvent = { ...log[1]!, body: { kind: 'redacted', digest: new Uint8Array(32) } };
    expect(linkProblem(log[0]!, redacted)).toBe('the stored bytes do not match the hash');
  });

  test('[HASH4] a change of any header field, the bytes, the salt or the hash is detected', () => {
    const event = log[1]!;
    const changes: readonly object[] = [
      { session: 'ses_01jd3v8m9k5x7q2w4e6r8t0y1c' },
      { at: event.at + 1 },
      { turn: 2 },
      { run: undefined },
      { type: 'message.abandoned' },
      { version: 2 },
      { actor: 'agent:code' },
      { hash: new Uint8Array(32) },
      { body: { ...event.body, salt: new Uint8Array(16) } },
      { body: { ...event.body, bytes: utf8('{"text":"Gruße ☃ 𝄞"}') } },
    ];
    for (const change of changes) {
      expect(linkProblem(log[0]!, { ...event, ...change } as StoredEvent), JSON.stringify(change)).toBe(
        'the stored bytes do not match the hash',
      );
    }
  });

  test('[HASH6] the problem names a missing event, or the reason why an event cannot be read', () => {
    expect(linkProblem(log[0]!, log[2]!)).toBe('event 2 is missing');
    expect(linkProblem(log[0]!, { ...log[1]!, body: { kind: 'damaged', reason: 'it is gone' } })).toBe('it is gone');
  });
});
