import type { DevTools } from './dev-tools.ts';

export interface Look {
  readonly width: number;
  readonly scheme: 'light' | 'dark';
}

const height = 800;

/** One page of a browser. */
export class BrowserPage {
  readonly #tools: DevTools;
  readonly #session: string;
  #loaded: PromiseWithResolvers<void> | undefined;
  /** Problems that the browser reported: exceptions and errors of the console, the network and policies. */
  readonly problems: string[] = [];

  private constructor(tools: DevTools, session: string) {
    this.#tools = tools;
    this.#session = session;
    tools.listen(session, (method, params) => {
      if (method === 'Page.loadEventFired') this.#loaded?.resolve();
      if (method === 'Runtime.exceptionThrown') this.problems.push(JSON.stringify(params.exceptionDetails));
      if (method === 'Runtime.consoleAPICalled' && params.type === 'error')
        this.problems.push(JSON.stringify(params.args));
      if (method === 'Log.entryAdded' && params.entry.level === 'error') {
        this.problems.push(`${params.entry.text} ${params.entry.url ?? ''}`);
      }
      if (method === 'Audits.issueAdded') this.problems.push(JSON.stringify(params.issue));
    });
  }

  static async open(tools: DevTools): Promise<BrowserPage> {
    const { targetId } = await tools.ask('Target.createTarget', { url: 'about:blank' });
    const { sessionId } = await tools.ask('Target.attachToTarget', { targetId, flatten: true });
    const page = new BrowserPage(tools, sessionId);
    for (const domain of ['Page', 'Runtime', 'Log', 'Audits']) await page.#ask(`${domain}.enable`);
    return page;
  }

  async look({ width, scheme }: Look): Promise<void> {
    const mobile = width < 600;
    await this.#ask('Emulation.setDeviceMetricsOverride', { width, height, deviceScaleFactor: 1, mobile });
    await this.#ask('Emulation.setEmulatedMedia', { features: [{ name: 'prefers-color-scheme', value: scheme }] });
  }

  /** Resolves when the page and everything it references have loaded. */
  async go(url: string): Promise<void> {
    this.#loaded = Promise.withResolvers();
    const { errorText } = await this.#ask('Page.navigate', { url });
    if (errorText) throw new Error(`${url}: ${errorText}`);
    await this.#loaded.promise;
  }

  /** Evaluates the expression in the page, awaits its result and returns it. */
  async evaluate<T>(expression: string): Promise<T> {
    const asked = { expression, awaitPromise: true, returnByValue: true };
    const { result, exceptionDetails } = await this.#ask('Runtime.evaluate', asked);
    if (exceptionDetails) throw new Error(exceptionDetails.exception?.description ?? exceptionDetails.text);
    return result.value as T;
  }

  /** A PNG of the visible window. */
  async screenshot(): Promise<Buffer> {
    const { data } = await this.#ask('Page.captureScreenshot');
    return Buffer.from(data, 'base64');
  }

  #ask(method: string, params?: object) {
    return this.#tools.ask(method, params, this.#session);
  }
}
