/** Whether there was somebody to take it. */
export const sendSignal = (target: number, name: NodeJS.Signals | 0): boolean => {
  try {
    process.kill(target, name);
    return true;
  } catch {
    return false;
  }
};
