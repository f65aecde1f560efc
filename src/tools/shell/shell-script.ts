import type { CommandRecord, RecordFile } from './command-record.ts';

const quoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;

/** Runs its first argument, and leaves behind where it ended up and with which environment. */
export const shellScript = (record: CommandRecord): string => {
  const file = (name: RecordFile) => quoted(record.path(name));
  const leave = `pwd -P >${file('cwd')} || :; /usr/bin/env -0 >${file('env')} || :`;
  return `leave_perdure() { perdure_code=$?; ${leave}; exit $perdure_code; }
trap leave_perdure EXIT
perdure_command=$1
shift
eval "$perdure_command"`;
};
