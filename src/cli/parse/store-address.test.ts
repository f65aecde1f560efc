import { expect, test } from 'vitest';
import { withoutSecrets } from './store-address.ts';

test('[CLI3, CLI31] no password of a store is shown, in whatever form it occurs', () => {
  const cases: readonly (readonly [address: string, text: string])[] = [
    ['postgres://ann:s3cr3t@db/app', 'cannot reach postgres://ann:s3cr3t@db/app'],
    ['postgres://ann:s3cr3t@db/app', 'password "s3cr3t" was refused'],
    ['postgres://ann:s3cr%33t@db/app', 'password "s3cr3t" was refused, not s3cr%33t'],
    ['postgres://ann:a/s3cr3t@x@db/app', 'a/s3cr3t@x'],
    ['postgres://db/app?user=ann&password=s3cr3t', 'postgres://db/app?user=ann&password=s3cr3t'],
    ['postgres://db/app?password=s3cr3t&x=1', 's3cr3t'],
    ['sqlite:a.db', 'postgres://ann:s3cr3t@db/app'],
    ['mysql://ann:s3cr3t@db', '"mysql://ann:s3cr3t@db" is not a store'],
  ];
  for (const [address, text] of cases) expect(withoutSecrets(text, address)).not.toMatch(/s3cr/);
});

test('the rest of a message is unchanged', () => {
  const address = 'postgres://postgres:postgres@localhost:5432/app';
  expect(withoutSecrets(`cannot reach ${address}: is postgres there?`, address)).toBe(
    'cannot reach postgres://…@localhost:5432/app: is postgres there?',
  );
  expect(withoutSecrets('no store at a%b.db', 'sqlite:a%b.db')).toBe('no store at a%b.db');
});
