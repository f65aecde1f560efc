import { BlockList, isIPv6 } from 'node:net';

const notPublic = new BlockList();

/**
 * Loopback, private, link-local, shared, multicast and reserved addresses, and addresses that are translated to one of
 * these.
 */
const ipv4: readonly (readonly [string, number])[] = [
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  // The metadata service of Azure.
  ['168.63.129.16', 32],
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.0.0.0', 24],
  ['192.0.2.0', 24],
  ['192.88.99.0', 24],
  ['192.168.0.0', 16],
  ['198.18.0.0', 15],
  ['198.51.100.0', 24],
  ['203.0.113.0', 24],
  ['224.0.0.0', 4],
  ['240.0.0.0', 4],
];
const ipv6: readonly (readonly [string, number])[] = [
  // Teredo and other protocol addresses.
  ['2001::', 23],
  ['2001:db8::', 32],
  // 6to4, which embeds any IPv4 address.
  ['2002::', 16],
  ['3fff::', 20],
];
for (const [net, bits] of ipv4) notPublic.addSubnet(net, bits, 'ipv4');
for (const [net, bits] of ipv6) notPublic.addSubnet(net, bits, 'ipv6');

/** The publicly routed IPv6 addresses. Mapped, translated and local addresses are outside this range. */
const globalUnicast = new BlockList();
globalUnicast.addSubnet('2000::', 3, 'ipv6');

export const isPublicAddress = (address: string): boolean => {
  if (!isIPv6(address)) return !notPublic.check(address, 'ipv4');
  return globalUnicast.check(address, 'ipv6') && !notPublic.check(address, 'ipv6');
};
