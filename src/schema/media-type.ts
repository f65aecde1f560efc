const byExtension: Readonly<Record<string, string>> = {
  '.png': 'image/png',
  '.jpg': 'image/jpeg',
  '.jpeg': 'image/jpeg',
  '.gif': 'image/gif',
  '.webp': 'image/webp',
  '.pdf': 'application/pdf',
  '.json': 'application/json',
  '.csv': 'text/csv',
  '.html': 'text/html',
  '.md': 'text/markdown',
};

const isText = (bytes: Uint8Array): boolean => {
  try {
    return !new TextDecoder('utf-8', { fatal: true }).decode(bytes).includes('\0');
  } catch {
    return false;
  }
};

/** Guesses the media type from the extension, or else from whether the bytes are valid UTF-8. */
export const mediaTypeOf = (path: string, bytes: Uint8Array): string =>
  byExtension[/\.\w+$/.exec(path)?.[0].toLowerCase() ?? ''] ??
  (isText(bytes) ? 'text/plain' : 'application/octet-stream');
