import { describe, expect, test } from 'vitest';
import { type EventType, eventDefinitions } from '../../schema/event.ts';
import { type Status, statuses } from '../../schema/statuses.ts';
import {
  allowedCommands,
  type Command,
  commands,
  illegalTransition,
  lifecycle,
  statusAfter,
  statusesThatAllow,
  statusOfFork,
} from './lifecycle.ts';

/** An independent copy of the lifecycle table: the next status, or `-` if the command is forbidden. */
const table = `
              open    active   pausing  paused  closed    archived
append        active  active   pausing  -       -         -
send          active  active   pausing  paused  -         -
update        open    active   pausing  paused  closed    -
commit        open    active   pausing  paused  -         -
requestPause  -       pausing  -        -       -         -
pause         paused  paused   paused   -       -         -
resume        -       -        active   active  -         -
close         closed  closed   -        closed  -         -
reopen        -       -        -        -       active    -
archive       -       -        -        -       archived  -
unarchive     -       -        -        -       -         closed
rewind        open    active   -        paused  -         -
fork          open    active   pausing  paused  closed    archived
`;
const [header, ...rows] = table
  .trim()
  .split('\n')
  .map((line) => line.trim().split(/ +/));

/** The status after each event, from each status. `=` means unchanged. */
const afterEvents = `
                   open    active    pausing   paused    closed    archived
session.opened     open    open      open      open      open      open
session.forked     =       =         =         =         =         =
session.described  =       =         =         =         =         =
session.shared     =       =         =         =         =         =
session.pausing    pausing pausing   pausing   pausing   pausing   pausing
session.paused     paused  paused    paused    paused    paused    paused
session.resumed    active  active    active    active    active    active
session.closed     closed  closed    closed    closed    closed    closed
session.reopened   active  active    active    active    active    active
session.archived   archived archived archived  archived  archived  archived
session.restored   closed  closed    closed    closed    closed    closed
session.rewound    =       =         =         =         =         =
session.quarantined =      =         =         =         =         =
message.appended   active  =         =         =         =         =
agent.bound        =       =         =         =         =         =
state.committed    =       =         =         =         =         =
session.tracked    =       =         =         =         =         =
tool.called        =       =         =         =         =         =
call.reported      =       =         =         =         =         =
tool.completed     =       =         =         =         =         =
tool.failed        =       =         =         =         =         =
calls.happened     =       =         =         =         =         =
context.compacted  =       =         =         =         =         =
run.started        =       =         =         =         =         =
run.ended          =       =         =         =         =         =
input.admitted     active  =         =         =         =         =
tool.retried       =       =         =         =         =         =
run.resumed        =       =         =         =         =         =
run.waiting        =       =         =         =         =         =
model.called       =       =         =         =         =         =
model.completed    =       =         =         =         =         =
model.failed       =       =         =         =         =         =
message.progressed =       =         =         =         =         =
message.abandoned  =       =         =         =         =         =
approval.requested =       =         =         =         =         =
approval.settled   =       =         =         =         =         =
question.asked     =       =         =         =         =         =
question.answered  =       =         =         =         =         =
child.opened       =       =         =         =         =         =
child.waiting      =       =         =         =         =         =
child.resumed      =       =         =         =         =         =
child.ended        =       =         =         =         =         =
budget.set         =       =         =         =         =         =
cancel.requested   =       =         =         =         =         =
quota.changed      =       =         =         =         =         =
files.snapshotted  =       =         =         =         =         =
files.conflicted   =       =         =         =         =         =
files.bound        =       =         =         =         =         =
files.prepared     =       =         =         =         =         =
artifact.kept      =       =         =         =         =         =
taint.inherited    =       =         =         =         =         =
taint.cleared      =       =         =         =         =         =
session.handed     =       =         =         =         =         =
`;
const [, ...eventRows] = afterEvents
  .trim()
  .split('\n')
  .map((line) => line.trim().split(/ +/));

describe('the lifecycle', () => {
  test('[LIFE1] the table holds every status and every command, and nothing else', () => {
    expect(header).toEqual(Object.keys(lifecycle));
    expect(Object.keys(lifecycle)).toEqual(statuses);
    for (const status of statuses) expect(Object.keys(lifecycle[status])).toEqual(commands);
    expect(rows.map(([command]) => command)).toEqual(commands);
  });

  for (const [command, ...cells] of rows) {
    for (const [index, cell] of cells.entries()) {
      const status = statuses[index]!;
      const leads = cell === '-' ? 'is forbidden' : `leads to ${cell}`;
      test(`[LIFE1] ${command} of a session that is ${status} ${leads}`, () => {
        const next = lifecycle[status][command as Command];
        expect(next ?? '-').toBe(cell);
        expect(allowedCommands(status).includes(command as Command)).toBe(cell !== '-');
        expect(statusesThatAllow(command as Command).includes(status)).toBe(cell !== '-');
      });
    }
  }

  test('[LIFE1] every status has a path back to active, so that no session gets stuck', () => {
    const reached = (status: Status): ReadonlySet<Status> => {
      const seen = new Set<Status>([status]);
      for (const each of seen)
        for (const command of commands) if (lifecycle[each][command]) seen.add(lifecycle[each][command]);
      return seen;
    };
    for (const status of statuses) expect(reached(status)).toContain('active');
  });

  test('[LIFE1] the error for a forbidden command names the status, the command and the allowed commands', () => {
    for (const status of statuses) {
      for (const command of commands.filter((each) => lifecycle[status][each] === undefined)) {
        const error = illegalTransition(status, command);
        expect(error.code).toBe('ILLEGAL_TRANSITION');
        expect(error.details).toMatchObject({ status, command });
        const allowed = error.details.allowed as readonly string[];
        expect(allowed.length).toBeGreaterThan(0);
        for (const each of allowed) {
          expect(error.message).toContain(each === 'update' ? 'change its title or metadata' : each);
          expect(lifecycle[status][each as Command]).toBeDefined();
        }
      }
    }
  });

  test.each([
    ['paused', 'append', 'resume it first'],
    ['closed', 'append', 'reopen it first'],
    ['archived', 'append', 'unarchive and reopen it first'],
    ['pausing', 'close', 'resume it first'],
    ['closed', 'close', undefined],
    ['archived', 'close', undefined],
    ['paused', 'pause', undefined],
    ['open', 'resume', undefined],
    ['paused', 'archive', undefined],
  ] as const)(
    '[LIFE1, CLI11] on a session that is %s, the error for a forbidden %s gives the advice: %s',
    (status, command, first) => {
      const [, advice] = /: (.*) it first;/.exec(illegalTransition(status, command).message) ?? [];
      expect(advice && `${advice} it first`).toBe(first);
    },
  );

  test('[LIFE1] the error for a second pause request mentions pause, not requestPause', () => {
    const { message, details } = illegalTransition('pausing', 'requestPause');
    expect(message).toMatch(/^cannot pause while the session is pausing; allowed now: append, .*, resume, fork$/);
    expect(details.allowed).not.toContain('pause');
  });

  test('[LIFE1] every event type leads from every status to the expected status', () => {
    expect(eventRows.map(([type]) => type).sort()).toEqual(Object.keys(eventDefinitions).sort());
    for (const [type, ...cells] of eventRows) {
      for (const [index, cell] of cells.entries()) {
        const status = statuses[index]!;
        expect(statusAfter(status, type as EventType), `${type} from ${status}`).toBe(cell === '=' ? status : cell);
      }
    }
  });

  test('[FORK3] a fork in the middle of a turn is paused, otherwise active with messages and open without', () => {
    expect(statusOfFork({ midTurn: true, messages: 3 })).toBe('paused');
    expect(statusOfFork({ midTurn: false, messages: 3 })).toBe('active');
    expect(statusOfFork({ midTurn: false, messages: 0 })).toBe('open');
  });
});
