import { describe, expect, test } from 'vitest';
import {
  Actor,
  ApprovalId,
  AuditId,
  CallId,
  type IdPrefix,
  KeyId,
  MemberId,
  MessageId,
  memberActor,
  NoteId,
  newId,
  RunId,
  SessionId,
  VerificationId,
  WebhookId,
  WorkspaceId,
} from './ids.ts';

const schemas = {
  ses: SessionId,
  run: RunId,
  call: CallId,
  apr: ApprovalId,
  msg: MessageId,
  whk: WebhookId,
  key: KeyId,
  aud: AuditId,
  note: NoteId,
  ver: VerificationId,
} as const;
const prefixes = Object.keys(schemas) as readonly IdPrefix[];

const body = '01jd3v8m9k5x7q2w4e6r8t0y1a';

describe('ids', () => {
  test('[ID1] an id carries its kind as a prefix and is accepted only as that kind', () => {
    for (const made of prefixes) {
      const id = newId(made);
      expect(id).toMatch(new RegExp(`^${made}_[0-9a-hjkmnp-tv-z]{26}$`));
      for (const read of prefixes) expect(schemas[read].safeParse(id).success).toBe(made === read);
    }
  });

  test('[ID1] ids of one process sort in the order they were created', () => {
    const ids = Array.from({ length: 5_000 }, () => newId('ses'));
    expect(ids.toSorted()).toEqual(ids);
    expect(new Set(ids).size).toBe(ids.length);
  });

  test('[ID1] ids sort by creation also within a millisecond, when the clock steps back, and across kinds', () => {
    const now = Date.now() + 60_000;
    const clock = [...Array(300).fill(now), now - 50_000, now - 1, 0, now, now + 1, now + 1, now - 3, now + 2];
    const ids = clock.map((at, i) => newId(i % 2 ? 'run' : 'ses', at).split('_')[1]!);
    expect(ids.toSorted()).toEqual(ids);
    expect(new Set(ids).size).toBe(ids.length);
  });

  test('[ID1] the first ten characters after the prefix are the time', () => {
    const at = Date.now() + 120_000;
    const digits = '0123456789abcdefghjkmnpqrstvwxyz';
    const time = [...newId('msg', at).slice(4, 14)].reduce((sum, digit) => sum * 32 + digits.indexOf(digit), 0);
    expect(time).toBe(at);
  });

  test('[IN3] a malformed id is rejected with an error that shows an example', () => {
    const wrong = [
      '',
      'ses_',
      body,
      `SES_${body}`,
      `ses-${body}`,
      `ses_${body.toUpperCase()}`,
      `ses_${body}0`,
      `ses_${body.slice(1)}`,
      `ses_8${body.slice(1)}`,
      `ses_${body.slice(0, -1)}u`,
      `ses_${body}\n`,
      ` ses_${body}`,
      `ses_${body.slice(0, -1)}/`,
      42,
      null,
      undefined,
      {},
    ];
    expect(SessionId.safeParse(`ses_${body}`).success).toBe(true);
    for (const text of wrong) {
      const parsed = SessionId.safeParse(text);
      expect(parsed.success, String(text)).toBe(false);
      expect(parsed.error?.issues[0]?.message).toContain('ses_01jd');
    }
  });

  test('[IN3] a workspace is 1 to 63 lower-case letters, digits, - or _', () => {
    for (const good of ['local', 'a', '0', 'a-b_c', 'a'.repeat(63)]) {
      expect(WorkspaceId.safeParse(good).success, good).toBe(true);
    }
    for (const bad of ['', '-a', '_a', 'A', 'a b', 'a/b', 'a.b', 'é', 'a\n', 'a\0', 'a'.repeat(64), "a'--"]) {
      expect(WorkspaceId.safeParse(bad).success, bad).toBe(false);
    }
  });

  test('[IN3] a member is a name or an email address, and always forms a valid actor', () => {
    for (const good of ['ada', 'ada@example.com', 'Ada.L+x_1-2', '7', 'a'.repeat(128)]) {
      const member = MemberId.parse(good);
      expect(Actor.safeParse(memberActor(member)).success, good).toBe(true);
    }
    for (const bad of ['', '@ada', '.a', 'a b', 'a:b', 'a\n', 'a'.repeat(129), 'ä']) {
      expect(MemberId.safeParse(bad).success, bad).toBe(false);
    }
  });

  test('[HASH1] an actor holds no line break or space, so that it fits on one header line', () => {
    for (const good of ['system', 'agent:coder', 'tool:bash/1', 'importer:claude-code', 'member:a']) {
      expect(Actor.safeParse(good).success, good).toBe(true);
    }
    for (const bad of ['', 'root', 'system:x', 'member:', 'member:a b', 'member:a\n', 'agent:\u0000', 'x\nmember:a']) {
      expect(Actor.safeParse(bad).success, bad).toBe(false);
    }
  });
});
