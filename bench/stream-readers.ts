/** Opens many event streams on bare sockets, and reports when every one of them has received an event. */
import { connect } from 'node:net';

export interface Readers {
  readonly port: number;
  readonly path: string;
  readonly headers: readonly string[];
  readonly count: number;
}

const atOnce = 50;

let waiting: { readonly text: string; left: number } | undefined;
/** Each reader keeps only the end of what it has received, in which the marks are. */
const seenBy: { tail: string }[] = [];

const check = (reader: { tail: string }, chunk: string): void => {
  const text = reader.tail + chunk;
  if (waiting && text.includes(waiting.text)) {
    if (--waiting.left === 0) process.send!({ received: waiting.text });
    reader.tail = '';
  } else reader.tail = text.slice(-100);
};

const open = ({ port, path, headers }: Readers): Promise<void> =>
  new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1');
    const reader = { tail: '' };
    seenBy.push(reader);
    socket.setEncoding('utf8');
    socket.once('data', (head: string) => {
      if (!head.startsWith('HTTP/1.1 200')) reject(new Error(head.slice(0, 500)));
      resolve();
    });
    socket.on('data', (chunk: string) => check(reader, chunk));
    socket.on('error', reject);
    socket.write(`GET ${path} HTTP/1.1\r\n${['host: 127.0.0.1', ...headers].join('\r\n')}\r\n\r\n`);
  });

process.on('message', async (task: Readers | { readonly expect: string }) => {
  if ('expect' in task) {
    waiting = { text: task.expect, left: seenBy.length };
    process.send!({ expecting: true });
    return;
  }
  let left = task.count;
  const some = async (): Promise<void> => {
    while (left-- > 0) await open(task);
  };
  await Promise.all(Array.from({ length: atOnce }, some));
  process.send!({ opened: task.count });
});
process.once('disconnect', () => process.exit());
