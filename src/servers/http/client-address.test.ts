import { expect, test } from 'vitest';
import { clientAddress, proxyList } from './client-address.ts';

const trusted = proxyList(['10.0.0.0/8', '::1']);

test.for([
  ['192.0.2.1', undefined, '192.0.2.1'],
  ['::ffff:192.0.2.1', undefined, '192.0.2.1'],
  ['192.0.2.1', '198.51.100.9', '192.0.2.1'],
  ['10.1.2.3', '198.51.100.9', '198.51.100.9'],
  ['10.1.2.3', '203.0.113.5, 198.51.100.9', '198.51.100.9'],
  ['10.1.2.3', '203.0.113.5, 198.51.100.9, 10.9.9.9', '198.51.100.9'],
  ['::1', 'nonsense', '0:0:0:0::/64'],
  ['2001:db8:1:2:3:4:5:6', undefined, '2001:db8:1:2::/64'],
  ['2001:db8:1:2::9', undefined, '2001:db8:1:2::/64'],
  ['2001:db8::9', undefined, '2001:db8:0:0::/64'],
] as const)('[AUTH1] a request from %s, forwarded for %s, counts for %s', ([remote, forwarded, counted]) => {
  expect(clientAddress(remote, forwarded, trusted)).toBe(counted);
});

test('[AUTH1] a trusted proxy that is no address is rejected', () => {
  for (const wrong of ['proxy', '10.0.0.0/33', '::1/129', '10.0.0.1/x'])
    expect(() => proxyList([wrong])).toThrow(`got "${wrong}"`);
});
