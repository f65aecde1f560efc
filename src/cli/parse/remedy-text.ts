/** Verbs that introduce advice in a message. */
const imperatives =
  'add|adopt|ask|bind|cancel|check|choose|claim|close|commit|convert|copy|enable|export|fix|give|import|install|keep|leave|look|make|mend|move|name|open|pass|pause|put|quote|raise|read|remove|reopen|repeat|restore|resume|retry|revert|run|search|see|send|set|start|stop|take|try|unarchive|upgrade|use|write';
/** Words that show that the verb before them is not advice: `use of it`, `read ECONNRESET`, `write timeout`. */
const noRequest = '(?! (?:of|is|are|was|must|error|failed|timeout|timed|E[A-Z]+)\\b)';

const asks = new RegExp(`\`[^\`]+\`|(?:^|\\s)--?\\w|[:;,] (?:then |or )?(?:${imperatives})\\b`);
const endsAsking = new RegExp(`: (?:${imperatives})\\b${noRequest}[^:]*$`);

/** Whether a message of Perdure contains advice, or names a command or option. */
export const namesRemedy = (message: string): boolean => asks.test(message);

/**
 * Whether a message ends with advice from Perdure. The message may begin with foreign text, such as a provider's
 * error.
 */
export const endsWithRemedy = (message: string): boolean => endsAsking.test(message);

/** Removes the advice at the end of a message. */
export const withoutRemedy = (message: string): string => message.replace(endsAsking, '');
