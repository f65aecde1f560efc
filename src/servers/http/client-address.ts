import { BlockList, isIP, isIPv6 } from 'node:net';
import { PerdureError } from '../../schema/error.ts';

/** Parses addresses and networks of proxies, such as 10.0.0.7 or 10.0.0.0/8. */
export const proxyList = (given: readonly string[]): BlockList => {
  const list = new BlockList();
  for (const each of given) {
    const [address = '', bits] = each.split('/');
    const family = isIPv6(address) ? 'ipv6' : 'ipv4';
    const most = family === 'ipv6' ? 128 : 32;
    if (!isIP(address) || (bits !== undefined && !(/^\d{1,3}$/.test(bits) && Number(bits) <= most)))
      throw new PerdureError(
        'INVALID_INPUT',
        `a trusted proxy is an address or network such as 10.0.0.0/8; got "${each}"`,
      );
    list.addSubnet(address, bits === undefined ? most : Number(bits), family);
  }
  return list;
};

/** An IPv4 address in IPv6 form, as a socket that listens on both reports it. */
const plain = (address: string): string => address.trim().replace(/^::ffff:(?=\d+\.)/i, '');

const isTrusted = (trusted: BlockList, address: string): boolean =>
  isIP(address) !== 0 && trusted.check(address, isIPv6(address) ? 'ipv6' : 'ipv4');

/** The first four groups of an IPv6 address: one customer usually has all addresses of such a network. */
const networkOf = (address: string): string => {
  if (!isIPv6(address)) return address;
  const [head = '', tail] = (address.split('%')[0] ?? '').split('::');
  const left = head === '' ? [] : head.split(':');
  const right = tail ? tail.split(':') : [];
  const groups =
    tail === undefined ? left : [...left, ...Array(Math.max(0, 8 - left.length - right.length)).fill('0'), ...right];
  return `${groups
    .slice(0, 4)
    .map((group) => Number.parseInt(group, 16).toString(16))
    .join(':')}::/64`;
};

/**
 * The address that a client's failures count for. A header of a proxy counts only if the proxy is trusted, because
 * every client can send one.
 */
export const clientAddress = (
  remote: string | undefined,
  forwarded: string | undefined,
  trusted: BlockList,
): string => {
  let client = plain(remote ?? '');
  for (const hop of (forwarded ?? '').split(',').map(plain).reverse()) {
    if (!isTrusted(trusted, client) || isIP(hop) === 0) break;
    client = hop;
  }
  return networkOf(client);
};
