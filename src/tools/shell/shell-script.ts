import type { CommandRecord, RecordFile } from './command-record.ts';

const quoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;

/** Runs its first argument, and leaves behind where it ended up and with which environment. */
export const shellScript = (record: CommandRecord): string => {
  const file = (name: RecordFile) => quoted(record.path(name));
  const leave = `pwd -P >${file('cwd')} || :; /usr/bin/env -0 >${file('env')} || :`;
  const trap = `perdure_left() { perdure_code=$?; ${leave}; exit $perdure_code; }; trap perdure_left EXIT`;
  // On the first line, so that what a shell says of lines is about the command's.
  return `${trap}; perdure_command=$1; shift; eval "$perdure_command"`;
};
