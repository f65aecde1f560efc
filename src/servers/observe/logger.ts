import { type DestinationStream, type Logger, type LoggerOptions, pino } from 'pino';
import type { Observer } from '../http/index.ts';

export interface LogOptions {
  /** `info` by default. */
  readonly level?: string | undefined;
  /** Stderr by default. */
  readonly destination?: DestinationStream | undefined;
}

/** Keys of ours, secrets of webhooks, and what is sent as authorization: whatever the way, none gets into a log. */
const secrets = /pdk_[\w.-]+|whsec_[A-Za-z0-9+/=]+|\b(?:Bearer|Basic) [A-Za-z0-9._~+/=-]+/gi;

const headers = ['authorization', 'cookie', 'set-cookie', 'proxy-authorization'];
const paths = headers.flatMap((name) => [`["${name}"]`, `*["${name}"]`, `*.*["${name}"]`]);

/** One JSON object a line. */
export const newLogger = ({ level = 'info', destination = pino.destination(2) }: LogOptions = {}): Logger => {
  const options: LoggerOptions = {
    level,
    base: null,
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (label) => ({ level: label }) },
    redact: { paths, censor: '[redacted]' },
    hooks: { streamWrite: (line) => line.replace(secrets, '[redacted]') },
  };
  return pino(options, destination);
};

/** What the server did, by request, session and key; no body and no address. */
export const logRequests = (logger: Logger): Pick<Observer, 'answered' | 'failed'> => ({
  answered: ({ id, status, ...about }) => {
    const level = status >= 500 ? 'error' : 'info';
    logger[level]({ request: id, status, ...about }, 'answered');
  },
  failed: (error, request) => logger.error({ request, err: error }, 'defect'),
});
