/**
 * Sends requests to a server from a separate process. Each message is one task, which gets one answer, or many if the
 * task follows a stream.
 */
import { Agent, get, request } from 'node:http';

export interface Load {
  readonly kind: 'load';
  readonly url: string;
  readonly method: 'GET' | 'POST';
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
  readonly count: number;
  readonly atOnce: number;
}

export interface Follow {
  readonly kind: 'follow';
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
}

const agent = new Agent({ keepAlive: true });

const ask = ({ url, method, headers, body }: Load): Promise<void> =>
  new Promise((resolve, reject) => {
    const asked = request(url, { method, headers, agent }, (response) => {
      response.resume();
      response.on('end', () =>
        response.statusCode! < 300 ? resolve() : reject(new Error(`${url} answered ${response.statusCode}`)),
      );
    });
    asked.on('error', reject);
    asked.end(body);
  });

const load = async (work: Load): Promise<number> => {
  let left = work.count;
  const one = async (): Promise<void> => {
    while (left-- > 0) await ask(work);
  };
  const start = performance.now();
  await Promise.all(Array.from({ length: work.atOnce }, one));
  return performance.now() - start;
};

const follow = ({ url, headers }: Follow): void => {
  get(url, { headers, agent: false }, (response) => {
    let rest = '';
    response.setEncoding('utf8').on('data', (chunk: string) => {
      const at = String(process.hrtime.bigint());
      const frames = `${rest}${chunk}`.split('\n\n');
      rest = frames.pop()!;
      for (const frame of frames) {
        const [, id] = /^id: (\d+)$/m.exec(frame) ?? [];
        if (id !== undefined) process.send!([url, Number(id), at]);
      }
    });
  });
};

process.on('message', async (work: Load | Follow) => {
  if (work.kind === 'follow') follow(work);
  else process.send!({ ms: await load(work) });
});
process.once('disconnect', () => process.exit());
