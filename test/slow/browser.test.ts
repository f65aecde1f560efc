import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { rolldown } from 'rolldown';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { connect } from '../../src/client/index.ts';
import { Browser } from '../support/browser/browser.ts';
import type { BrowserPage, Look } from '../support/browser/browser-page.ts';
import { startPerdure } from '../support/cli/perdure-command.ts';
import { killServer } from '../support/postgres/kill-server.ts';

let browser: Browser;
beforeAll(async () => {
  browser = await Browser.start();
});
afterAll(() => browser?.stop());

const newFolder = async (): Promise<string> => {
  const folder = await mkdtemp(join(tmpdir(), 'perdure-browser-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true, maxRetries: 5 }));
  return folder;
};

const serve = async (cwd: string, ...args: readonly string[]) => {
  const child = startPerdure(['serve', '--json', '--log', 'silent', ...args], { cwd });
  onTestFinished(() => void child.kill('SIGKILL'));
  const [line] = (await once(createInterface({ input: child.stdout }), 'line')) as [string];
  return { child, ...(JSON.parse(line) as { url: string; key?: string }) };
};

/**
 * Bundles `perdure/client` for browsers into one module. A dependency that cannot be bundled stays an import and fails
 * in the page.
 */
const bundledClient = async (): Promise<string> => {
  const input = fileURLToPath(new URL('../../src/client/index.ts', import.meta.url));
  const bundle = await rolldown({ input, platform: 'browser' });
  const { output } = await bundle.generate({ format: 'es' });
  await bundle.close();
  return output[0].code;
};

const html = `<!doctype html><html lang="en"><head><meta charset="utf-8"><link rel="icon" href="data:,"><title>Chat</title></head>
<body><ol id="transcript"></ol><script type="module" src="/chat.js"></script></body></html>`;

/**
 * The script of a page as a user would write it: it opens a session, sends an input, follows the session, and shows
 * the transcript.
 */
const chat = `
import { connect } from '/client.js';
window.chat = async (url, key) => {
  const { sessions } = connect({ url, key });
  const session = await sessions.open({ agent: { name: 'demo' } });
  const seen = [];
  const follow = async () => {
    for await (const { seq, type } of session.events({ follow: true })) seen.push({ seq, type });
  };
  follow();
  Object.assign(window, { session, seen });
  window.run = await session.send('tour');
  return session.id;
};
window.show = async () => {
  const entries = (await session.transcript()).entries;
  const lines = entries.map(({ message }) => Object.assign(document.createElement('li'), { textContent: JSON.stringify(message.content) }));
  document.querySelector('#transcript').replaceChildren(...lines);
};
`;

/** Serves the page from an origin other than the API server's. */
const startSite = async (): Promise<string> => {
  const files: Record<string, readonly [type: string, text: string]> = {
    '/': ['text/html', html],
    '/chat.js': ['text/javascript', chat],
    '/client.js': ['text/javascript', await bundledClient()],
  };
  const site = createServer(({ url = '/' }, response) => {
    const [type, text] = files[url] ?? ['text/plain', ''];
    response.writeHead(type === 'text/plain' ? 404 : 200, { 'content-type': type }).end(text);
  });
  onTestFinished(() => void site.close());
  await once(site.listen(0, '127.0.0.1'), 'listening');
  return `http://127.0.0.1:${(site.address() as AddressInfo).port}`;
};

const until = (page: BrowserPage, condition: string): Promise<void> =>
  page.evaluate(
    `new Promise((resolve) => { const look = () => (${condition}) ? resolve() : setTimeout(look, 20); look(); })`,
  );

test('[CLIENT1, CLIENT4] a page of an allowed origin opens a session, sends, and sees every event once across a server restart', async () => {
  const site = await startSite();
  const folder = await newFolder();
  const first = await serve(folder, '--port', '0', '--allow-origin', site);
  const { url, key } = first;
  const page = await browser.newPage();
  await page.go(site);
  const id = await page.evaluate<string>(`chat(${JSON.stringify(url)}, ${JSON.stringify(key)})`);
  await until(page, `seen.some(({ type }) => type === 'tool.called')`);
  expect(page.problems).toEqual([]);
  await killServer(first.child);
  await serve(folder, '--port', new URL(url).port, '--allow-origin', site);
  expect(await page.evaluate('run.result().then(({ status }) => status)')).toBe('succeeded');
  const session = await connect({ url, key: key! }).sessions.get(id);
  const events = await Array.fromAsync(session.events(), ({ seq, type }) => ({ seq, type }));
  await until(page, `seen.length >= ${events.length}`);
  expect(await page.evaluate('seen')).toEqual(events);
  await page.evaluate('show()');
  const said = (await session.transcript()).entries.map(({ message }) => JSON.stringify(message.content));
  expect(said).toContainEqual(expect.stringContaining('That was all'));
  const shown = await page.evaluate(`[...document.querySelectorAll('li')].map(({ textContent }) => textContent)`);
  expect(shown).toEqual(said);
});

test('[HTTP4] a page of an origin that is not allowed can read nothing', async () => {
  const site = await startSite();
  const { url, key } = await serve(await newFolder(), '--port', '0', '--allow-origin', 'https://app.example.org');
  const page = await browser.newPage();
  await page.go(site);
  const headers = JSON.stringify({ authorization: `Bearer ${key}` });
  const ask = `fetch('${url}/v1/sessions', { headers: ${headers} }).then(({ status }) => status, ({ name }) => name)`;
  expect(await page.evaluate(ask)).toBe('TypeError');
  expect(page.problems).toContainEqual(expect.stringContaining('blocked by CORS policy'));
});

const looks = [360, 1280].flatMap((width) => (['light', 'dark'] as const).map((scheme): Look => ({ width, scheme })));

/** Number of pixels of the page that lie to the right of the window. */
const beyond = 'document.documentElement.scrollWidth - document.documentElement.clientWidth';

/** Saves a screenshot for people to look at, if PERDURE_SCREENSHOTS names a folder. */
const keepScreenshot = async (page: BrowserPage, name: string): Promise<void> => {
  const folder = process.env.PERDURE_SCREENSHOTS;
  if (!folder) return;
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, `${name}.png`), await page.screenshot());
};

test('[HTTP13] the pages fit narrow and wide windows, are readable in light and dark, and cause no browser errors', async () => {
  const { url } = await serve(await newFolder(), '--port', '0');
  for (const [name, path] of Object.entries({ home: '/', docs: '/v1/docs' })) {
    for (const look of looks) {
      const page = await browser.newPage();
      await page.look(look);
      await page.go(`${url}${path}`);
      const said = `${name} ${look.width} ${look.scheme}`;
      await keepScreenshot(page, said.replaceAll(' ', '-'));
      await page.evaluate(`document.querySelectorAll('details').forEach((each) => { each.open = true; })`);
      await keepScreenshot(page, `${said.replaceAll(' ', '-')}-open`);
      expect(page.problems, said).toEqual([]);
      expect(await page.evaluate(beyond), said).toBe(0);
    }
  }
});
