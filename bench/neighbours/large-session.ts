import type { Runtime } from '../../src/index.ts';

export interface LargeSession {
  readonly rounds: number;
  /** Messages of a round, at most 1,000. */
  readonly messages: number;
  /** Commits of a round, each with ten facts of 200 characters. */
  readonly commits: number;
}

/** Writes a session whose whole reads take seconds, and returns its id. */
export const writeLargeSession = async (
  sessions: Runtime['sessions'],
  { rounds, messages, commits }: LargeSession,
): Promise<string> => {
  const session = await sessions.open({ title: 'large' });
  const text = 'lorem ipsum dolor sit amet '.repeat(8);
  for (let round = 0; round < rounds; round++) {
    await session.append(
      Array.from({ length: messages }, (_, at) => ({
        role: at % 2 === 0 ? ('user' as const) : ('assistant' as const),
        content: `${round}/${at} ${text}`,
      })),
    );
    for (let commit = 0; commit < commits; commit++) {
      await session.commit((draft) => {
        for (let at = 0; at < 10; at++) draft.facts[`fact-${round}-${commit}-${at}`] = 'x'.repeat(200);
      });
    }
  }
  return session.id;
};
