/** Whether the client already has this version, according to `if-none-match`. */
export const matchesEtag = (headers: Headers, etag: string): boolean =>
  (headers.get('if-none-match') ?? '').split(',').some((each) => ['*', etag, `W/${etag}`].includes(each.trim()));
