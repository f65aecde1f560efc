/**
 * The `perdure` that documented commands call. It forwards each command to the process of the test (see
 * commands-here.ts), which saves starting Node for each command.
 */
import { once } from 'node:events';
import { connect } from 'node:net';
import { createInterface } from 'node:readline';

const socket = connect(process.env.PERDURE_TEST_SOCKET!);
const send = (line: unknown) => socket.write(`${JSON.stringify(line)}\n`);
send({ argv: process.argv.slice(2), folder: process.cwd(), env: process.env });
process.stdin.on('data', (bytes) => send({ stdin: bytes.toString('base64') })).on('end', () => send({ stdin: null }));
for await (const line of createInterface({ input: socket })) {
  const { stream, data, code } = JSON.parse(line);
  if (code !== undefined) process.exit(code);
  const output = process[stream as 'stdout' | 'stderr'];
  if (!output.write(Buffer.from(data, 'base64'))) await once(output, 'drain');
}
process.exit(70); // the test has already ended
