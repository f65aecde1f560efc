import type { EventDraft, EventType, PayloadOf, SessionEvent } from '../../schema/event.ts';
import type { Actor } from '../../schema/ids.ts';
import { segmentsOfPointer } from '../../schema/pointer.ts';
import {
  importSource,
  maxTaintedPaths,
  maxTaintSources,
  type Taint,
  type TaintedFiles,
  type TaintSource,
} from '../../schema/taint.ts';

/*
 *            untrusted result, taint.inherited
 *   clean ───────────────────────────────────▶ tainted
 *     ▲      taint.cleared, a rewind to before      │
 *     └─────────────────────────────────────────────┘
 */

interface TaintMark extends TaintSource {
  /** The event by which it came into this lineage. */
  readonly at: number;
}

/** What taints a session, as its live lineage says. */
export interface TaintFold {
  /** The first source of each tool, oldest first. The session is tainted while there is one. */
  readonly sources: readonly TaintMark[];
  /** The number of further results. */
  readonly more: number;
  /** Set if a result of a tool that `sources` has no room for is among them. */
  readonly isFull?: true;
  /** The first event that tainted the lineage, also if the taint was cleared since. */
  readonly since?: number;
  /** The newest event that tainted the lineage. */
  readonly last?: number;
  /** The files that were written while the session was tainted. */
  readonly files: TaintedFiles;
  /** Set if calls may have written files that no snapshot lists. Neither a rewind nor a clear changes those. */
  readonly isUnlisted?: true;
  /** The tools that an approver allowed for sources, with the names of the sources. */
  readonly allowed: Readonly<Record<string, readonly string[]>>;
  readonly cleared?: { readonly by: Actor; readonly at: number; readonly reason: string };
}

export const noTaint: TaintFold = { sources: [], more: 0, files: { paths: [] }, allowed: {} };

/** The parts of a session's fold that the taint depends on. */
interface Around {
  readonly taint: TaintFold;
  readonly approvals: Readonly<Record<string, { readonly tool: string; readonly taintedBy?: Taint | undefined }>>;
  readonly boundTo?: unknown;
  readonly untoldCalls: readonly unknown[];
}

const withSource = (taint: TaintFold, source: TaintSource, at: number): TaintFold => {
  const { sources, more, since = at } = taint;
  const known = sources.find(({ tool }) => tool === source.tool);
  if (known && (known.tool === importSource || (known.session === source.session && known.seq === source.seq))) {
    return taint;
  }
  if (known) return { ...taint, last: at, more: more + 1 };
  if (sources.length >= maxTaintSources) return { ...taint, last: at, more: more + 1, isFull: true };
  return { ...taint, since, last: at, sources: [...sources, { ...source, at }] };
};

const withFiles = (taint: TaintFold, { paths, all }: TaintedFiles): TaintFold => {
  const before = taint.files;
  if (before.all) return taint;
  const fresh = paths.filter((path) => !before.paths.includes(path));
  const isAll = all || before.paths.length + fresh.length > maxTaintedPaths;
  if (isAll) return { ...taint, files: { paths: [], all: true } };
  return fresh.length > 0 ? { ...taint, files: { paths: [...before.paths, ...fresh] } } : taint;
};

/** The events of a bundle that bring content into a context or into the files. */
const importedContent: ReadonlySet<EventType> = new Set([
  'message.appended',
  'message.abandoned',
  'state.committed',
  'context.compacted',
  'input.admitted',
  'tool.completed',
  'tool.failed',
  'question.answered',
  'files.snapshotted',
  'calls.happened',
]);

export const isImportedContent = (type: EventType): boolean => importedContent.has(type);

/** What an event brings from outside, apart from what makes it imported. */
export const outsideIn = ({ type, payload, run }: Pick<SessionEvent, 'type' | 'payload' | 'run'>) => {
  const event = { type, payload } as Pick<SessionEvent, 'type' | 'payload'> as SessionEvent;
  switch (event.type) {
    case 'taint.inherited':
      return event.payload.sources;
    case 'tool.completed':
    case 'tool.failed': {
      const { tool, callId, untrusted } = event.payload;
      return untrusted ? [{ tool, callId }] : [];
    }
    case 'message.appended': {
      // A run records its results by the ends of its calls.
      const { role, content } = event.payload.message;
      if (run || role !== 'tool') return [];
      return content.flatMap(({ tool, callId, untrusted }) => (untrusted ? [{ tool, callId }] : []));
    }
    default:
      return [];
  }
};

const sourcesIn = (event: SessionEvent): readonly TaintSource[] => {
  const { session, seq, turn } = event;
  const here = { session, seq, turn };
  return [
    ...(event.imported && isImportedContent(event.type) ? [{ tool: importSource, ...here }] : []),
    ...outsideIn(event).map((source) => ({ ...here, ...source })),
  ];
};

/** The files that a commit records as written. A member writes what they chose, whatever the context holds. */
const writtenBy = ({ actor, payload: { cause, delta } }: SessionEvent<'state.committed'>): TaintedFiles => {
  if (!cause && actor.startsWith('member:')) return { paths: [] };
  const places = delta.flatMap(({ op, path }) => {
    const [part, file] = segmentsOfPointer(path);
    return part === 'filesModified' && op !== 'test' && op !== 'remove' ? [file] : [];
  });
  const paths = [...new Set(places.filter((path) => path !== undefined))];
  return { paths, ...(paths.length < new Set(places).size && { all: true }) };
};

const cleared = ({ taint, untoldCalls }: Around, event: SessionEvent<'taint.cleared'>): TaintFold => {
  const { reason, files: withoutFiles } = event.payload;
  const { isUnlisted, files, since, allowed } = taint;
  const note = { by: event.actor, at: event.at, reason };
  const rest: TaintFold = { ...noTaint, allowed, ...(since !== undefined && { since }), cleared: note };
  if (withoutFiles) return rest;
  const kept = { ...rest, files, ...(isUnlisted && { isUnlisted }) };
  // A call whose file changes are not recorded yet wrote them in the tainted context.
  return untoldCalls.length > 0 && since !== undefined ? withFiles(kept, { paths: [], all: true }) : kept;
};

const allow = ({ taint, approvals }: Around, { payload }: SessionEvent<'approval.settled'>): TaintFold => {
  const { approval, answer, forSource } = payload;
  const asked = approvals[approval];
  if (!forSource || answer !== 'approved' || !asked?.taintedBy) return taint;
  const before = Object.hasOwn(taint.allowed, asked.tool) ? taint.allowed[asked.tool]! : [];
  const names = [...new Set([...before, ...asked.taintedBy.sources.map(({ tool }) => tool)])];
  return { ...taint, allowed: { ...taint.allowed, [asked.tool]: names } };
};

/** A rewind does not restore a person's folder, nor the files that no snapshot lists. */
const rewound = ({ taint, boundTo }: Around, target: TaintFold = noTaint): TaintFold => {
  const back = taint.isUnlisted ? { ...target, isUnlisted: taint.isUnlisted } : target;
  return boundTo ? withFiles(back, taint.files) : back;
};

const apply = (around: Around, event: SessionEvent, target: TaintFold | undefined): TaintFold => {
  const { taint } = around;
  switch (event.type) {
    case 'taint.inherited': {
      const { sources, more, files } = event.payload;
      const isFull = sources.length >= maxTaintSources;
      const counted = { ...taint, more: taint.more + more, ...(isFull && { isFull: true as const }) };
      return files ? withFiles(counted, files) : counted;
    }
    case 'taint.cleared':
      return event.imported ? taint : cleared(around, event);
    case 'approval.settled':
      return allow(around, event);
    case 'state.committed':
      return taint.sources.length > 0 ? withFiles(taint, writtenBy(event)) : taint;
    case 'files.snapshotted':
      return event.imported ? withFiles(taint, { paths: [], all: true }) : taint;
    case 'tool.called': {
      const { effects, untrusted, ran } = event.payload;
      const writes = ran !== false && effects !== 'none' && (untrusted || taint.sources.length > 0);
      return writes && !taint.isUnlisted ? { ...taint, isUnlisted: true } : taint;
    }
    case 'session.rewound':
      return rewound(around, target);
    case 'session.forked': {
      // An approver allowed it for the other session, and a fork has a worktree of its own.
      const { isUnlisted: _, ...rest } = taint;
      return { ...rest, allowed: {} };
    }
    default:
      return taint;
  }
};

/** Applies one event. `target` is the fold at the point of a rewind. */
export const foldTaint = (around: Around, event: SessionEvent, target?: TaintFold): TaintFold =>
  sourcesIn(event).reduce((taint, source) => withSource(taint, source, event.seq), apply(around, event, target));

/** The names of the sources, for a summary. */
export const taintNames = ({ sources }: TaintFold): string[] | undefined =>
  sources.length > 0 ? sources.slice(0, maxSummaryNames).map(({ tool }) => tool) : undefined;

export const maxSummaryNames = 5;

const shown = ({ at: _, ...source }: TaintMark): TaintSource => source;

/** The sources that were in the context of a message at this seq. */
export const taintBefore = ({ sources, more }: TaintFold, seq: number): Taint => {
  const known = sources.filter(({ at }) => at < seq);
  return { sources: known.map(shown), more: known.length > 0 ? more : 0 };
};

export const taintOf = (taint: TaintFold): Taint => taintBefore(taint, Number.POSITIVE_INFINITY);

type Inherited = PayloadOf<'taint.inherited'>;

/** The event that records what a session gets from a tainted one. None if there is nothing. */
export const inheritTaint = (
  { session: from, taint }: { readonly session: Inherited['from']; readonly taint: TaintFold },
  { via, callId, ...header }: Pick<Inherited, 'via' | 'callId'> & Pick<EventDraft, 'actor' | 'turn' | 'run'>,
): readonly EventDraft<'taint.inherited'>[] => {
  const { files } = taint;
  const { sources, more } = via === 'restore' ? noTaint : taintOf(taint);
  const hasFiles = files.all || files.paths.length > 0;
  if (sources.length === 0 && !hasFiles) return [];
  const payload = { via, from, sources: [...sources], more, ...(hasFiles && { files }), callId };
  return [{ type: 'taint.inherited', payload, ...header }];
};
