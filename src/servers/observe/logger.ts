import { type DestinationStream, type Logger, type LoggerOptions, pino } from 'pino';
import type { Observer } from '../http/index.ts';

export interface LogOptions {
  /** `info` by default. */
  readonly level?: string | undefined;
  /** Stderr by default. */
  readonly destination?: DestinationStream | undefined;
}

/** API keys, webhook secrets and authorization values, which must not reach a log in any field. */
const secrets = /pdk_[\w.-]+|whsec_[A-Za-z0-9+/=]+|\b(?:Bearer|Basic) [A-Za-z0-9._~+/=-]+/gi;

const headers = ['authorization', 'cookie', 'set-cookie', 'proxy-authorization'];
const paths = headers.flatMap((name) => [`["${name}"]`, `*["${name}"]`, `*.*["${name}"]`]);

/** Writes one JSON object per line. */
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

/** Logs each request with its session and key, but without its body and address. */
export const logRequests = (logger: Logger): Pick<Observer, 'answered' | 'failed'> => ({
  answered: ({ id, status, ...about }) => {
    const level = status >= 500 ? 'error' : 'info';
    logger[level]({ request: id, status, ...about }, 'answered');
  },
  failed: (error, request) => logger.error({ request, err: error }, 'defect'),
});
