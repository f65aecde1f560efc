/** What no client library would send, as it goes over the wire. All of it must be refused or cut off. */
export interface RawAttack {
  readonly what: string;
  readonly bytes: string;
}

export const rawAttacks = (session: string, host: string, key: string): readonly RawAttack[] => {
  const body = '{"messages":[{"role":"user","content":"smuggled"}]}';
  const common = [`Host: ${host}`, `Authorization: Bearer ${key}`, 'Content-Type: application/json'];
  const head = (lines: readonly string[], first = `POST ${session}/messages HTTP/1.1`): string =>
    `${[first, ...common, ...lines].join('\r\n')}\r\n\r\n`;
  const length = `Content-Length: ${body.length}`;
  const chunked = `${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`;
  const smuggled = `DELETE ${session}/files/content?path=a.txt HTTP/1.1\r\n${common.join('\r\n')}\r\n\r\n`;
  const plain = head([length]) + body;
  const raw: Readonly<Record<string, string>> = {
    'both a length and chunks': head([length, 'Transfer-Encoding: chunked']) + chunked,
    'chunks and then a length': `${head(['Transfer-Encoding: chunked', 'Content-Length: 4'])}0\r\n\r\n${smuggled}`,
    'two lengths': head(['Content-Length: 4', length]) + body,
    'two lengths in one': head([`Content-Length: 4, ${body.length}`]) + body,
    'a length below zero': head(['Content-Length: -1']) + body,
    'a length with a sign': head([`Content-Length: +${body.length}`]) + body,
    'a length in base 16': head([`Content-Length: 0x${body.length.toString(16)}`]) + body,
    'a length without end': head([`Content-Length: ${'9'.repeat(30)}`]) + body,
    'chunks twice': head(['Transfer-Encoding: chunked', 'Transfer-Encoding: chunked']) + chunked,
    'chunks that are no chunks': head(['Transfer-Encoding: xchunked']) + chunked,
    'chunks that are not last': head(['Transfer-Encoding: chunked, identity']) + chunked,
    'chunks after a tab': head(['Transfer-Encoding:\x0bchunked']) + chunked,
    'a space before the colon': head(['Transfer-Encoding : chunked']) + chunked,
    'a chunk of no size': `${head(['Transfer-Encoding: chunked'])}zz\r\n${body}\r\n0\r\n\r\n`,
    'a chunk below zero': `${head(['Transfer-Encoding: chunked'])}-1\r\n${body}\r\n0\r\n\r\n`,
    'a chunk beyond all': `${head(['Transfer-Encoding: chunked'])}FFFFFFFFFFFFFFFFFF\r\n${body}`,
    'a chunk that ends early': `${head(['Transfer-Encoding: chunked'])}5\r\n${body}\r\n0\r\n\r\n`,
    'an extension of a chunk without end': `${head(['Transfer-Encoding: chunked'])}5;${'a'.repeat(100_000)}\r\n`,
    'trailers without end': `${head(['Transfer-Encoding: chunked'])}0\r\n${'X-Trailer: a\r\n'.repeat(20_000)}\r\n`,
    'a folded line': head(['X-Folded: a\r\n b', length]) + body,
    'a folded length': head([`Content-Length:\r\n ${body.length}`]) + body,
    'lines that end in LF alone': plain.replaceAll('\r\n', '\n'),
    'one line that ends in LF alone': plain.replace('\r\nContent-Type', '\nContent-Type'),
    'lines that end in CR alone': plain.replaceAll('\r\n', '\r'),
    'a CR within a header': head(['X-Odd: a\rb', length]) + body,
    'U+0000 within a header': head(['X-Odd: a\0b', length]) + body,
    'U+0000 within a name': head(['X-O\0dd: a', length]) + body,
    'a header without a name': head([': a', length]) + body,
    'a header without a colon': head(['nothing', length]) + body,
    'no host': plain.replace(/Host: .*\r\n/, ''),
    'two hosts': plain.replace('\r\n', '\r\nHost: evil.example\r\n'),
    'two keys': plain.replace('\r\n', '\r\nAuthorization: Bearer pdk_nothing\r\n'),
    'an address of another host': head([length], `POST http://evil.example${session}/messages HTTP/1.1`) + body,
    'an address that is a star': head([], 'GET * HTTP/1.1'),
    'a space within the address': head([length], `POST ${session}/mess ages HTTP/1.1`) + body,
    'bytes in the address that are no UTF-8': head([], `GET /v1/\xff\xfe HTTP/1.1`),
    'dots in the address': head([length], `POST /v1/../${session}/messages HTTP/1.1`) + body,
    'a tunnel': head([], 'CONNECT evil.example:443 HTTP/1.1'),
    'a method without end': head([], `${'G'.repeat(50_000)} / HTTP/1.1`),
    'a method in other letters': head([length], `post ${session}/messages HTTP/1.1`) + body,
    'no method': head([], ' / HTTP/1.1'),
    'an address without end': head([], `GET /${'a'.repeat(50_000)} HTTP/1.1`),
    'another protocol': head([length], `POST ${session}/messages HTTP/9.9`) + body,
    'no protocol': `GET ${session}/state\r\n\r\n`,
    'HTTP/2': 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
    TLS: '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03',
    'another service': 'EHLO evil.example\r\nMAIL FROM:<a@evil.example>\r\n',
    noise: String.fromCharCode(...Array.from({ length: 4096 }, (_, at) => (at * 7919) % 256)),
    'empty lines without end': '\r\n'.repeat(100_000),
    'an expectation that is none': head(['Expect: nothing', length]) + body,
    'a flood of headers': head([...Array.from({ length: 1000 }, (_, at) => `X-${at}: 1`), length]) + body,
    'headers without end': `POST ${session}/messages HTTP/1.1\r\n${'X-Odd: 1\r\n'.repeat(100_000)}`,
    'a header without end': `POST ${session}/messages HTTP/1.1\r\nX-Odd: ${'a'.repeat(1_000_000)}`,
    'half of a body': head([length]) + body.slice(0, 10),
    'half of a chunk': `${head(['Transfer-Encoding: chunked'])}ff\r\n${body}`,
    'half of a head': plain.slice(0, 60),
  };
  return Object.entries(raw).map(([what, bytes]) => ({ what, bytes }));
};
