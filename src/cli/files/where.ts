import { text } from '../parse/command.ts';
import { optionalPoint, parseCount } from '../parse/point.ts';
import { wrongCall } from '../parse/wrong-call.ts';

export const setAsideOption = text('SEQ', 'the changes set aside at that event, a files.conflicted in `perdure log`');

interface Given {
  readonly at?: string | undefined;
  readonly 'set-aside'?: string | undefined;
}

/** Selects the files of a point, or the files that were set aside at an event. */
export const whereOf = ({ at, 'set-aside': setAside }: Given) => {
  if (at !== undefined && setAside !== undefined)
    throw wrongCall('--at and --set-aside exclude each other: leave out one');
  if (setAside === undefined) return { at: optionalPoint(at) };
  return { setAside: parseCount('--set-aside', setAside.replace(/^seq:/, ''), 1) };
};
