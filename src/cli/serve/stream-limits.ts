import type { ServeOptions } from '../../servers/http/index.ts';
import { text } from '../parse/command.ts';
import { parseCount } from '../parse/point.ts';
import { wrongCall } from '../parse/wrong-call.ts';

/** The same values as `serveDefaults`, which is not imported because help must be quick. */
export const usualStreams = { perKey: 100, perWorkspace: 1000, perServer: 5000 };

export const streamOptions = {
  'max-streams': text('N', `open streams and waits for runs on this server; default ${usualStreams.perServer}`),
  'max-streams-per-workspace': text('N', `the same for each workspace; default ${usualStreams.perWorkspace}`),
  'max-streams-per-key': text('N', `the same for each key; default ${usualStreams.perKey}`),
};

type Given = { readonly [Name in keyof typeof streamOptions]?: string | undefined };

/**
 * Parses the limits of streams. A limit that was not given is lowered to the one around it. A given one must not exceed
 * it, because it would never apply.
 */
export const parseStreamLimits = (given: Given): Required<Pick<ServeOptions, 'streamsPerKey' | 'streams'>> => {
  const within = (option: keyof typeof streamOptions, usual: number, most?: number): number => {
    const limit = parseCount(`--${option}`, given[option], 1) ?? Math.min(usual, most ?? usual);
    if (most === undefined || limit <= most) return limit;
    throw wrongCall(`--${option} ${limit} exceeds the ${most} that the limit around it allows: raise that one too`);
  };
  const perServer = within('max-streams', usualStreams.perServer);
  const perWorkspace = within('max-streams-per-workspace', usualStreams.perWorkspace, perServer);
  return {
    streamsPerKey: within('max-streams-per-key', usualStreams.perKey, perWorkspace),
    streams: { perWorkspace, perServer },
  };
};
