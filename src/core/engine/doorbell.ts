import { longestTimerMs } from '../../schema/timer-limit.ts';

export interface Doorbell {
  ring(): void;
  rung(): Promise<void>;
}

/** Remembers that it was rung, so that a ring between reading and waiting is not lost. Whoever waits keeps the process alive. */
export const newDoorbell = (): Doorbell => {
  let rang = false;
  let answer: (() => void) | undefined;
  return {
    ring: () => {
      rang = true;
      answer?.();
    },
    rung: async () => {
      if (!rang) {
        const awake = setInterval(() => {}, longestTimerMs);
        await new Promise<void>((resolve) => {
          answer = resolve;
        });
        clearInterval(awake);
      }
      answer = undefined;
      rang = false;
    },
  };
};
