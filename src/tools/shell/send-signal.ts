/** Sends a signal. Returns false if there is no such process. */
export const sendSignal = (target: number, name: NodeJS.Signals | 0): boolean => {
  try {
    process.kill(target, name);
    return true;
  } catch {
    return false;
  }
};
