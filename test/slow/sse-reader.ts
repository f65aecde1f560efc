import { randomInt } from 'node:crypto';
import { get } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ServerProcess } from './server-process.ts';

/**
 * A reader that disconnects at random, resumes with the id of its last event, and records every event that is not the
 * next one.
 */
export class SseReader {
  readonly #server: ServerProcess;
  readonly wrong: string[] = [];
  last = 0;
  connections = 0;

  constructor(server: ServerProcess) {
    this.#server = server;
  }

  async readTo(seq: number): Promise<void> {
    while (this.last < seq && this.wrong.length === 0) {
      await this.#connect(seq, this.last + randomInt(1, 150));
      await sleep(randomInt(0, 50));
    }
  }

  /** Reads until event `seq`, a planned disconnect, or a broken connection, which may cut a frame anywhere. */
  #connect(seq: number, leaveAt: number): Promise<void> {
    this.connections++;
    const { port, session, key } = this.#server;
    return new Promise((resolve) => {
      const headers = { authorization: `Bearer ${key}`, ...(this.last > 0 && { 'last-event-id': String(this.last) }) };
      const request = get({ host: '127.0.0.1', port, path: `${session}/events`, headers, agent: false });
      request.on('error', () => resolve());
      request.on('close', () => resolve());
      request.on('response', (response) => {
        if (response.statusCode !== 200) this.wrong.push(`status ${response.statusCode}`);
        let rest = '';
        response.setEncoding('utf8').on('data', (chunk: string) => {
          const frames = `${rest}${chunk}`.split('\n\n');
          rest = frames.pop()!;
          for (const frame of frames) this.#see(frame);
          if (this.last >= Math.min(seq, leaveAt) || this.wrong.length > 0) request.destroy();
        });
        response.on('error', () => {});
      });
    });
  }

  #see(frame: string): void {
    const [, id, data] = /^id: (\d+)\nevent: .*\ndata: (.*)$/.exec(frame) ?? [];
    if (id === undefined) return;
    const { seq } = JSON.parse(data!) as { seq: number };
    if (Number(id) !== this.last + 1 || seq !== this.last + 1) this.wrong.push(`${id} (${seq}) after ${this.last}`);
    this.last = seq;
  }
}
