/** Whether who asks has what the tag stands for, as `if-none-match` says. */
export const matchesEtag = (headers: Headers, etag: string): boolean =>
  (headers.get('if-none-match') ?? '').split(',').some((each) => ['*', etag, `W/${etag}`].includes(each.trim()));
