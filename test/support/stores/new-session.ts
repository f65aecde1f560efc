import { onTestFinished } from 'vitest';
import { openRuntime, type Session } from '../../../src/index.ts';
import { newSqliteFile } from './sqlite-file.ts';

/** A session in its first turn, on a new SQLite file that is removed after the test. */
export const newSession = async (): Promise<Session> => {
  const runtime = await openRuntime({ store: `sqlite:${newSqliteFile()}` });
  onTestFinished(() => runtime.close());
  const session = await runtime.sessions.open();
  await session.append({ role: 'user', content: 'go' });
  return session;
};
