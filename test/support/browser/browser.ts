import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Readable, Writable } from 'node:stream';
import { BrowserPage } from './browser-page.ts';
import { DevTools } from './dev-tools.ts';

const missing = 'there is no chromium: `apt-get install chromium` brings it, and PERDURE_BROWSER names another';

/** A real headless browser, controlled over a pipe. */
export class Browser {
  readonly #process: ChildProcess;
  readonly #profile: string;
  readonly #tools: DevTools;

  private constructor(process: ChildProcess, profile: string, tools: DevTools) {
    this.#process = process;
    this.#profile = profile;
    this.#tools = tools;
  }

  static async start(): Promise<Browser> {
    const profile = await mkdtemp(join(tmpdir(), 'perdure-browser-'));
    // The browser's own sandbox does not work for root, and tests may run as root. The browser opens only pages of
    // the tests.
    const args = ['--headless=new', '--no-sandbox', '--disable-gpu', '--no-first-run', '--remote-debugging-pipe'];
    const process_ = spawn(process.env.PERDURE_BROWSER ?? 'chromium', [...args, `--user-data-dir=${profile}`], {
      stdio: ['ignore', 'ignore', 'ignore', 'pipe', 'pipe'],
    });
    await once(process_, 'spawn').catch((cause) => {
      throw new Error(missing, { cause });
    });
    const tools = new DevTools(process_.stdio[3] as Writable, process_.stdio[4] as Readable);
    return new Browser(process_, profile, tools);
  }

  newPage(): Promise<BrowserPage> {
    return BrowserPage.open(this.#tools);
  }

  async stop(): Promise<void> {
    const gone = once(this.#process, 'exit');
    this.#process.kill('SIGKILL');
    await gone;
    await rm(this.#profile, { recursive: true, force: true, maxRetries: 5 });
  }
}
