import { text } from '../command.ts';
import { optionalPoint, parseCount } from '../point.ts';
import { wrongCall } from '../wrong-call.ts';

export const setAsideOption = text('SEQ', 'what was set aside there: the event is a files.conflicted of `perdure log`');

interface Given {
  readonly at?: string | undefined;
  readonly 'set-aside'?: string | undefined;
}

/** The files of a point, or those that were set aside at one. */
export const whereOf = ({ at, 'set-aside': setAside }: Given) => {
  if (at !== undefined && setAside !== undefined) throw wrongCall('--at and --set-aside exclude each other');
  if (setAside === undefined) return { at: optionalPoint(at) };
  return { setAside: parseCount('--set-aside', setAside.replace(/^seq:/, ''), 1) };
};
