/** What happens to a call in a tainted context. Without a schema, so that a program that defines agents loads no package. */
export const taintPolicies = ['allow', 'approve', 'deny'] as const;
export type TaintPolicy = (typeof taintPolicies)[number];

const outsideWords: ReadonlySet<string> = new Set(['fetch', 'web', 'http', 'browse', 'browser', 'crawl', 'scrape']);

/** Whether the name of a tool says that it reads the outside world, such as `fetch`, `web_search` or `httpGet`. */
export const isOutsideName = (name: string): boolean =>
  name
    .replaceAll(/([a-z0-9])([A-Z])/g, '$1_$2')
    .toLowerCase()
    .split(/[^a-z0-9]+/)
    .some((word) => outsideWords.has(word));

/** Whether the results of a tool come from outside, unless its author says so or vouches for them. */
export const isUntrustedBy = (
  name: string,
  { untrusted, trusted }: { readonly untrusted?: boolean | undefined; readonly trusted?: boolean | undefined },
): boolean => untrusted ?? (!trusted && isOutsideName(name));
