import { PerdureError } from '../../schema/error.ts';

const tooLarge = (maxBytes: number): PerdureError =>
  new PerdureError('PAYLOAD_TOO_LARGE', `the body is larger than ${maxBytes} bytes, the limit of this route`, {
    details: { maxBytes },
  });

const invalid = (why: string): PerdureError => new PerdureError('INVALID_INPUT', `the body ${why}`);

/** Yields a body up to its size limit. A declared length over the limit is refused before anything is read. */
export async function* limited(
  request: Request,
  maxBytes: number,
  take: (chunk: Uint8Array) => void = () => {},
): AsyncGenerator<Uint8Array, void, void> {
  if (Number(request.headers.get('content-length') ?? 0) > maxBytes) throw tooLarge(maxBytes);
  const encoding = request.headers.get('content-encoding') ?? 'identity';
  if (encoding !== 'identity') throw invalid('is compressed: send it without content-encoding');
  if (!request.body) return;
  let size = 0;
  for await (const chunk of request.body as unknown as AsyncIterable<Uint8Array>) {
    size += chunk.length;
    if (size > maxBytes) throw tooLarge(maxBytes);
    take(chunk);
    yield chunk;
  }
}

const maxDepth = 256;
const maxValues = 500_000;
const tooMany = new PerdureError(
  'PAYLOAD_TOO_LARGE',
  `the body has more than ${maxValues} values: send less at once, or send large content as a string or a file`,
  { details: { maxValues } },
);

const isClosing = (char: number): boolean => char === 0x5d || char === 0x7d;

/**
 * Refuses JSON with too many values or too much nesting. Runs before parsing, because a parsed value costs far more
 * memory than its text.
 */
const refuseDense = (text: string): void => {
  let depth = 0;
  let values = 1;
  let isText = false;
  for (let at = 0; at < text.length; at++) {
    const char = text.charCodeAt(at);
    if (isText) {
      if (char === 0x5c) at++;
      else if (char === 0x22) isText = false;
    } else if (char === 0x22) isText = true;
    else if (char === 0x2c) values++;
    else if (char === 0x5b || char === 0x7b) {
      if (++depth > maxDepth) throw invalid(`is nested deeper than ${maxDepth} levels`);
      if (!isClosing(text.charCodeAt(at + 1))) values++;
    } else if (isClosing(char)) depth--;
    if (values > maxValues) throw tooMany;
  }
};

const textOf = (content: Uint8Array): string => {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(content);
  } catch {
    throw invalid('is not UTF-8: send JSON in UTF-8');
  }
};

const parsed = (text: string): unknown => {
  refuseDense(text);
  try {
    return JSON.parse(text);
  } catch {
    throw invalid('is not JSON'); // the parser's message would quote the body, which may hold a secret
  }
};

const isUtf8 = /^charset=("?)utf-?8\1$/;

/** Reads a JSON body. An empty body is treated as an empty object, because most routes require no field. */
export const readJson = async (
  request: Request,
  maxBytes: number,
  take?: (chunk: Uint8Array) => void,
): Promise<unknown> => {
  const content = Buffer.concat(await Array.fromAsync(limited(request, maxBytes, take)));
  if (content.length === 0) return {};
  const declared = (request.headers.get('content-type') ?? '').toLowerCase().split(';');
  const [type, ...parameters] = declared.map((each) => each.trim());
  if (type !== 'application/json' && type !== 'application/json-patch+json') {
    throw invalid('is not declared as JSON: send content-type: application/json');
  }
  const charset = parameters.find((each) => each.startsWith('charset='));
  if (charset && !isUtf8.test(charset)) throw invalid('is declared in a charset other than UTF-8: send JSON in UTF-8');
  return parsed(textOf(content));
};
