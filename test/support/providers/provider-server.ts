import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';
import type { Body, Issued, ProviderApi, Reply, StatusFault, StreamFault } from './provider-api.ts';

export const testKey = 'test-key';

/** A local fake provider: as strict as the real one, and as unreliable as a test wants. */
export interface ProviderServer {
  readonly url: string;
  /** Request bodies in order of arrival, including rejected ones. */
  readonly requests: readonly Body[];
  reply(...replies: Reply[]): void;
  /** Bytes that streams without end have sent. */
  readonly sentBytes: number;
  /** Resolves once a client has hung up in the middle of an answer. */
  readonly hungUp: Promise<void>;
  close(): Promise<void>;
}

type Endless = 'endless' | 'endless-line';

const sendError = (response: ServerResponse, api: ProviderApi, fault: StatusFault) => {
  response.writeHead(fault.status, { 'content-type': 'application/json', ...fault.headers });
  response.end(JSON.stringify(api.errorBody(fault)));
};

const written = (response: ServerResponse, text: string) =>
  new Promise<void>((resolve) => {
    response.write(text, () => resolve());
  });

const breakOff: Readonly<
  Record<Exclude<StreamFault, Endless>, (response: ServerResponse, api: ProviderApi, rest: string) => void>
> = {
  disconnect: (response) => response.destroy(),
  unfinished: (response) => response.end(),
  empty: (response) => response.end(),
  malformed: (response, _, rest) => response.end(`data: {"type": "broken\n\n${rest}`),
  'error-frame': (response, api) => response.end(api.errorFrame()),
  stall: () => {},
};

/** Sends text for ever, as fast as the client reads, until the client hangs up. */
const repeat = async (response: ServerResponse, text: string, onSent: (bytes: number) => void) => {
  const chunk = text.repeat(Math.ceil(16_384 / text.length));
  const hungUp = new Promise<void>((resolve) => response.once('close', resolve));
  while (!response.destroyed) {
    await Promise.race([written(response, chunk), hungUp]);
    onSent(chunk.length);
  }
};

const sendStream = async (
  response: ServerResponse,
  api: ProviderApi,
  frames: readonly string[],
  fault: StreamFault | undefined,
  onSent: (bytes: number) => void,
) => {
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  response.flushHeaders();
  if (!fault) return void response.end(frames.join(''));
  const half = fault === 'empty' ? 0 : Math.ceil(frames.length / 2);
  if (half > 0) await written(response, frames.slice(0, half).join(''));
  if (fault === 'endless') return repeat(response, frames[half - 1]!, onSent);
  if (fault === 'endless-line') return repeat(response, 'data: {"x', onSent);
  breakOff[fault](response, api, frames.slice(half).join(''));
};

export const startProvider = async (api: ProviderApi): Promise<ProviderServer> => {
  const requests: Body[] = [];
  const replies: Reply[] = [];
  const issued: Issued[] = [];
  let sentBytes = 0;
  const hungUp = Promise.withResolvers<void>();

  const refusalOf = (request: IncomingMessage, body: Body): StatusFault | undefined => {
    const [header, value] = api.keyHeader(testKey);
    if (request.url !== api.path) return { status: 404, message: `no such path: ${request.url}` };
    if (request.headers[header] !== value) return { status: 401, message: 'invalid api key' };
    const problem = api.problemOf(body, issued);
    return problem === undefined ? undefined : { status: 400, message: problem };
  };

  const handle = async (request: IncomingMessage, response: ServerResponse) => {
    response.on('close', () => {
      if (!response.writableFinished) hungUp.resolve();
    });
    const body: Body = await json(request);
    requests.push(body);
    const refusal = refusalOf(request, body);
    if (refusal) return sendError(response, api, refusal);
    const reply = replies.shift();
    if (!reply) return sendError(response, api, { status: 400, message: 'the test has no further reply' });
    if ('overflow' in reply) return sendError(response, api, api.overflow);
    if ('status' in reply) return sendError(response, api, reply.status);
    const number = issued.length + 1;
    const { calls = [], thinking = '' } = reply.answer;
    const handedOut = { calls: calls.map(({ id }) => id), thinking, signature: `sig-${number}-${thinking.length}` };
    issued.push(handedOut);
    await sendStream(response, api, api.frames(reply.answer, body, handedOut), reply.fault, (bytes) => {
      sentBytes += bytes;
    });
  };

  const server = createServer((request, response) => {
    handle(request, response).catch((error) => response.destroy(error));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/v1`,
    requests,
    get sentBytes() {
      return sentBytes;
    },
    reply: (...more) => void replies.push(...more),
    hungUp: hungUp.promise,
    close: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
};
