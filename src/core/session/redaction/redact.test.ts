import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Json } from '../../../schema/json.ts';
import { type Redactor, redactorOf, type Secret } from './redact.ts';
import { formsOf } from './secret-forms.ts';

/**
 * The alphabet is small, so that secrets overlap and share prefixes. The emoji is a surrogate pair that a cut can
 * split.
 */
const letters = fc.constantFrom('a', 'b', '"', '\n', '/', '😀');
const values = fc.array(letters, { minLength: 8, maxLength: 14 }).map((all) => all.join(''));
const secretSets = fc.uniqueArray(values, { minLength: 1, maxLength: 4 }).map((all): readonly Secret[] => {
  const [first] = all;
  return [...all, `${first}ab`].map((value, place) => ({ name: `s${place}`, value }));
});
const textsWith = (secrets: readonly Secret[]) =>
  fc
    .array(
      fc.oneof(
        letters,
        fc.constantFrom(...secrets.map(({ value }) => value)),
        fc.constantFrom(...secrets.map(({ value }) => value.slice(0, 5))),
      ),
      { maxLength: 12 },
    )
    .map((pieces) => pieces.join(''));
const cases = secretSets.chain((secrets) => fc.tuple(fc.constant(secrets), textsWith(secrets)));

/** A naive implementation that searches for every form at every position. */
const redactedByHand = (secrets: readonly Secret[], text: string): string => {
  const forms = secrets.flatMap(({ name, value }) => formsOf(value, 8).map((form) => ({ name, form })));
  const found = [...text.split('').keys()].flatMap((at) =>
    forms
      .filter(({ form }) => text.startsWith(form, at))
      .toSorted((a, b) => b.form.length - a.form.length || (a.name < b.name ? -1 : 1))
      .slice(0, 1)
      .map(({ name, form }) => ({ at, to: at + form.length, name })),
  );
  let shown = '';
  let from = 0;
  for (const { at, to, name } of found) {
    if (at >= from) shown += `${text.slice(from, at)}[secret ${name}]`;
    from = Math.max(from, to);
  }
  return shown + text.slice(from);
};

const streamed = (redactor: Redactor, pieces: readonly string[]): string => {
  const stream = redactor.stream();
  return pieces.map((piece) => stream.push(piece)).join('') + stream.end();
};

const github: Secret = { name: 'github', value: 'ghp_s3cret/v"alue' };

describe('a redactor', () => {
  test('[RED1] replaces every known secret, also overlapping ones, and nothing else', () => {
    fc.assert(
      fc.property(cases, ([secrets, text]) => {
        const shown = redactorOf(secrets).text(text);
        expect(shown).toBe(redactedByHand(secrets, text));
        const left = shown.split(/\[secret s\d\]/);
        for (const { value } of secrets) expect(left.filter((piece) => piece.includes(value))).toEqual([]);
      }),
      { numRuns: 1000 },
    );
  });

  test('[RED2] produces the same result for a streamed text, wherever it is cut', () => {
    fc.assert(
      fc.property(cases, ([secrets, text]) => {
        const redactor = redactorOf(secrets);
        const whole = redactor.text(text);
        for (let at = 0; at <= text.length; at++) {
          expect(streamed(redactor, [text.slice(0, at), text.slice(at)])).toBe(whole);
        }
        expect(streamed(redactor, text.split(''))).toBe(whole);
      }),
      { numRuns: 300 },
    );
  });

  test('[RED2] holds back only text that could begin a secret', () => {
    const stream = redactorOf([github]).stream();
    expect(stream.push('a token: gh')).toBe('a token: ');
    expect(stream.push('osts, ')).toBe('ghosts, ');
    expect(stream.push('ghp_s3cret/v')).toBe('');
    expect(stream.push('"alue!')).toBe('[secret github]!');
    expect(stream.end()).toBe('');
  });

  test('[RED2] does not buffer an endless repetition of a secret that overlaps itself', () => {
    const stream = redactorOf([{ name: 'a', value: 'aaaaaaaa' }]).stream();
    expect(stream.push('a'.repeat(8))).toBe('[secret a]');
    expect(stream.push('a'.repeat(100_000))).toBe('');
    expect(stream.push('!')).toBe('!');
  });

  test('[RED1] finds a secret in JSON text, in URLs, in base64 at any offset, and by its lines', () => {
    const redactor = redactorOf([github, { name: 'pem', value: `-----BEGIN KEY-----\n${'k'.repeat(20)}\nshort` }]);
    const { value } = github;
    expect(redactor.text(JSON.stringify({ token: value }))).toBe('{"token":"[secret github]"}');
    expect(redactor.text(`https://x/?t=${encodeURIComponent(value)}`)).toBe('https://x/?t=[secret github]');
    expect(redactor.text(`t=${encodeURIComponent(value).toLowerCase()}`)).toBe('t=[secret github]');
    for (const around of ['', 'u', 'us', 'user:']) {
      for (const encoding of ['base64', 'base64url'] as const) {
        const encoded = Buffer.from(`${around}${value}${around}`).toString(encoding);
        expect(redactor.text(`Basic ${encoded}`)).toContain('[secret github]');
      }
    }
    expect(redactor.text(`1\t-----BEGIN KEY-----\r\n2\t${'k'.repeat(20)}`)).toBe(
      '1\t-----BEGIN KEY-----\r\n2\t[secret pem]',
    );
  });

  test('[RED1] redacts keys and values at any depth, and returns the same object if there is no secret', () => {
    const redactor = redactorOf([github]);
    const { value } = github;
    expect(redactor.json({ [`x ${value}`]: [{ deep: `${value}!` }, 1, null] } as Json)).toEqual({
      'x [secret github]': [{ deep: '[secret github]!' }, 1, null],
    });
    const clean: Json = { a: ['b', { c: 1 }] };
    expect(redactor.json(clean)).toBe(clean);
    expect(redactorOf([]).json(clean)).toBe(clean);
  });

  test('[RED1] redacts bytes that are not valid text', () => {
    const value = 'gehéim😀!';
    const redactor = redactorOf([{ name: 'x', value }]);
    const bytes = Buffer.concat([Buffer.from([0xff, 0]), Buffer.from(value), Buffer.from([0xc3])]);
    const wanted = Buffer.concat([Buffer.from([0xff, 0]), Buffer.from('[secret x]'), Buffer.from([0xc3])]);
    expect(Buffer.from(redactor.bytes(bytes))).toEqual(wanted);
    const clean = Buffer.from('nothing here');
    expect(redactor.bytes(clean)).toBe(clean);
  });

  test('[RED1] ignores values that are too short, and leaves a name that contains a secret out of the placeholder', () => {
    expect(redactorOf([{ name: 'x', value: 'seven77' }]).text('seven77')).toBe('seven77');
    const named = redactorOf([github, { name: 'password1', value: 'password1' }]);
    expect(named.text('password1')).toBe('[secret]');
  });

  test('[RED1] uses the first name in sort order for a value with several names', () => {
    const two = [
      { name: 'b', value: 'the-same-value' },
      { name: 'a', value: 'the-same-value' },
    ];
    expect(redactorOf(two).text('the-same-value')).toBe('[secret a]');
    expect(redactorOf(two.toReversed()).text('the-same-value')).toBe('[secret a]');
  });
});
