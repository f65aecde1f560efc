/**
 * Requests, as bytes on the wire, that no client library would send. The server must reject each one or close the
 * connection.
 */
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
    'a length and chunked encoding': head([length, 'Transfer-Encoding: chunked']) + chunked,
    'chunked encoding and then a length': `${head(['Transfer-Encoding: chunked', 'Content-Length: 4'])}0\r\n\r\n${smuggled}`,
    'two lengths': head(['Content-Length: 4', length]) + body,
    'two lengths in one header': head([`Content-Length: 4, ${body.length}`]) + body,
    'a negative length': head(['Content-Length: -1']) + body,
    'a length with a sign': head([`Content-Length: +${body.length}`]) + body,
    'a hexadecimal length': head([`Content-Length: 0x${body.length.toString(16)}`]) + body,
    'a length of thirty digits': head([`Content-Length: ${'9'.repeat(30)}`]) + body,
    'chunks twice': head(['Transfer-Encoding: chunked', 'Transfer-Encoding: chunked']) + chunked,
    'another encoding before chunked': head(['Transfer-Encoding: x, chunked']) + chunked,
    'an unknown transfer encoding': head(['Transfer-Encoding: xchunked']) + chunked,
    'chunked encoding that is not the last encoding': head(['Transfer-Encoding: chunked, identity']) + chunked,
    'a vertical tab before the transfer encoding': head(['Transfer-Encoding:\x0bchunked']) + chunked,
    'a space before the colon': head(['Transfer-Encoding : chunked']) + chunked,
    'a chunk size that is not a number': `${head(['Transfer-Encoding: chunked'])}zz\r\n${body}\r\n0\r\n\r\n`,
    'a negative chunk size': `${head(['Transfer-Encoding: chunked'])}-1\r\n${body}\r\n0\r\n\r\n`,
    'a chunk size beyond 64 bits': `${head(['Transfer-Encoding: chunked'])}FFFFFFFFFFFFFFFFFF\r\n${body}`,
    'a chunk longer than its size': `${head(['Transfer-Encoding: chunked'])}5\r\n${body}\r\n0\r\n\r\n`,
    'an endless chunk extension': `${head(['Transfer-Encoding: chunked'])}5;${'a'.repeat(100_000)}\r\n`,
    'too many trailers': `${head(['Transfer-Encoding: chunked'])}0\r\n${'X-Trailer: a\r\n'.repeat(20_000)}\r\n`,
    'a folded line': head(['X-Folded: a\r\n b', length]) + body,
    'a folded length': head([`Content-Length:\r\n ${body.length}`]) + body,
    'lines that end in LF only': plain.replaceAll('\r\n', '\n'),
    'one line that ends in LF only': plain.replace('\r\nContent-Type', '\nContent-Type'),
    'lines that end in CR only': plain.replaceAll('\r\n', '\r'),
    'a CR inside a header': head(['X-Odd: a\rb', length]) + body,
    'U+0000 within a header': head(['X-Odd: a\0b', length]) + body,
    'U+0000 within a name': head(['X-O\0dd: a', length]) + body,
    'a header without a name': head([': a', length]) + body,
    'a header without a colon': head(['nothing', length]) + body,
    'no host': plain.replace(/Host: .*\r\n/, ''),
    'two hosts': plain.replace('\r\n', '\r\nHost: evil.example\r\n'),
    'two keys': plain.replace('\r\n', '\r\nAuthorization: Bearer pdk_nothing\r\n'),
    'a URL of another host': head([length], `POST http://evil.example${session}/messages HTTP/1.1`) + body,
    'a star as the URL': head([], 'GET * HTTP/1.1'),
    'a space inside the URL': head([length], `POST ${session}/mess ages HTTP/1.1`) + body,
    'bytes in the URL that are not UTF-8': head([], `GET /v1/\xff\xfe HTTP/1.1`),
    'dot segments in the URL': head([length], `POST /v1/../${session}/messages HTTP/1.1`) + body,
    'a tunnel': head([], 'CONNECT evil.example:443 HTTP/1.1'),
    'an endless method': head([], `${'G'.repeat(50_000)} / HTTP/1.1`),
    'a lowercase method': head([length], `post ${session}/messages HTTP/1.1`) + body,
    'no method': head([], ' / HTTP/1.1'),
    'an endless URL': head([], `GET /${'a'.repeat(50_000)} HTTP/1.1`),
    'another protocol': head([length], `POST ${session}/messages HTTP/9.9`) + body,
    'no protocol': `GET ${session}/state\r\n\r\n`,
    'HTTP/2': 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
    TLS: '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03',
    'another service': 'EHLO evil.example\r\nMAIL FROM:<a@evil.example>\r\n',
    noise: String.fromCharCode(...Array.from({ length: 4096 }, (_, at) => (at * 7919) % 256)),
    'endless empty lines': '\r\n'.repeat(100_000),
    'an unknown expectation': head(['Expect: nothing', length]) + body,
    'a flood of headers': head([...Array.from({ length: 1000 }, (_, at) => `X-${at}: 1`), length]) + body,
    'endless headers': `POST ${session}/messages HTTP/1.1\r\n${'X-Odd: 1\r\n'.repeat(100_000)}`,
    'an endless header': `POST ${session}/messages HTTP/1.1\r\nX-Odd: ${'a'.repeat(1_000_000)}`,
    'half a body': head([length]) + body.slice(0, 10),
    'half a chunk': `${head(['Transfer-Encoding: chunked'])}ff\r\n${body}`,
    'half a request head': plain.slice(0, 60),
  };
  return Object.entries(raw).map(([what, bytes]) => ({ what, bytes }));
};
