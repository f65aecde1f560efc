import { longestTimerMs } from '../../schema/timer-limit.ts';

export interface Doorbell {
  ring(): void;
  rung(): Promise<void>;
}

/** Remembers a ring, so that one between reading and waiting is not lost. Waiting keeps the process alive. */
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
