const escapes: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

export const escapeHtml = (text: string): string => text.replace(/[&<>"']/g, (char) => escapes[char]!);

/** Converts text with Markdown code spans: text between backticks becomes code. */
export const textToHtml = (text: string): string =>
  escapeHtml(text).replace(/`([^`]+)`/g, (_, code) => `<code>${code}</code>`);

const style = `
:root { color-scheme: light dark; --line: color-mix(in srgb, currentColor 18%, transparent); }
body { font: 16px/1.55 system-ui, sans-serif; max-width: 60rem; margin: 0 auto; padding: 2rem 1rem 4rem; }
h1 { font-size: 1.5rem; margin: 0 0 .5rem; } h2 { font-size: 1.15rem; margin: 2.2rem 0 .6rem; } h3 { font-size: 1rem; }
code, pre { font-family: ui-monospace, monospace; font-size: .9em; }
pre { overflow-x: auto; border: 1px solid var(--line); border-radius: 8px; padding: .8rem 1rem; }
table { border-collapse: collapse; width: 100%; } td, th { text-align: left; padding: .35rem .6rem .35rem 0; border-bottom: 1px solid var(--line); vertical-align: top; overflow-wrap: anywhere; }
td:first-child { width: 1%; white-space: nowrap; }
details { border-bottom: 1px solid var(--line); padding: .45rem 0; } summary { cursor: pointer; overflow-wrap: anywhere; }
.method { display: inline-block; min-width: 4.2rem; font-weight: 600; } .quiet { opacity: .75; }
nav { display: flex; flex-wrap: wrap; gap: .3rem 1rem; }
`;

export const factsTable = (facts: readonly (readonly [name: string, value: string])[]): string =>
  `<table>${facts.map(([name, value]) => `<tr><th>${name}</th><td>${textToHtml(value)}</td></tr>`).join('')}</table>`;

/** Allows only the page's own style and no script. The empty icon keeps browsers from requesting one. */
const policy =
  "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

export const page = (title: string, body: string): Response =>
  new Response(
    `<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><link rel="icon" href="data:,"><title>${escapeHtml(title)}</title><style>${style}</style></head><body>${body}</body></html>`,
    {
      headers: {
        'content-type': 'text/html; charset=utf-8',
        'content-security-policy': policy,
        'cache-control': 'no-store',
      },
    },
  );
