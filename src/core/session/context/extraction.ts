import { z } from 'zod';
import { listOf } from '../../../schema/bounded.ts';
import { Json, Text } from '../../../schema/json.ts';
import { parseInput } from '../../../schema/parse-input.ts';
import { Point } from '../../../schema/point.ts';
import { pointerOf } from '../../../schema/pointer.ts';
import type { Redactor } from '../redaction/redact.ts';
import { shorten } from './clip.ts';
import type { ContextEntry } from './context-units.ts';

/** The input of a summarizer: the messages that will leave the context, and the previous summary. */
export interface SummaryInput {
  readonly entries: readonly ContextEntry[];
  readonly previous?: string | undefined;
}

/** The turns and events that an extracted entry rests on. By default all messages that leave the context. */
interface Sourced {
  readonly from?: readonly Point[] | undefined;
}

/** A summary with what is known and decided in the turns that leave the context, to be committed to the state. */
export interface Summary {
  readonly summary: string;
  readonly facts?: readonly (Sourced & { readonly key: string; readonly value: Json })[] | undefined;
  readonly decisions?:
    | readonly (Sourced & { readonly id: string; readonly what: string; readonly why: string })[]
    | undefined;
}

/** Writes a summary, with or without a model. */
export type Summarize = (input: SummaryInput) => string | Summary | Promise<string | Summary>;

/** An entry of the state that a summarizer extracted. */
export interface ExtractedEntry {
  readonly path: string;
  readonly value: Json;
  /** The seqs of the events that it rests on. */
  readonly sources: readonly number[];
}

/** An extracted entry that is not committed, and why. */
export interface DroppedEntry {
  readonly entry: string;
  readonly reason: string;
}

export interface ReadSummary {
  readonly text: string;
  readonly entries: readonly ExtractedEntry[];
  readonly dropped: readonly DroppedEntry[];
}

const maxEntries = 50;
const maxEntryChars = 4000;
const maxSources = 10_000;

const SummaryText = Text.max(20_000).refine((text) => text.trim() !== '', 'is empty');
const EntryId = Text.min(1)
  .max(200)
  .refine((key) => key !== '__proto__', 'cannot be a key: choose another name');
const Note = Text.min(1).max(maxEntryChars);
/** Sources that cannot be read are no sources. */
const from = listOf(Point, { max: 100 }).optional().catch(undefined);
const Fact = z.object({
  key: EntryId,
  value: Json.refine(
    (value) => JSON.stringify(value).length <= maxEntryChars,
    `is longer than ${maxEntryChars} characters of JSON`,
  ),
  from,
});
const DecisionEntry = z.object({ id: EntryId, what: Note, why: Note, from });

/** How the entries of each collection are read. Fields that the schema does not have are ignored. */
const collections = {
  facts: (given: unknown) => {
    const { key, value, from: points } = Fact.parse(given);
    return { id: key, value, points };
  },
  decisions: (given: unknown) => {
    const { id, what, why, from: points } = DecisionEntry.parse(given);
    return { id, value: { what, why }, points };
  },
};

const reasonOf = (error: unknown): string => {
  if (!(error instanceof z.ZodError)) return 'cannot be read';
  const [issue] = error.issues;
  return shorten(`${pointerOf(...(issue?.path ?? []).map(String))} ${issue?.message ?? 'is invalid'}`.trim(), 300);
};

/** The events that a compaction covers. */
export interface CompactedRange {
  /** The messages that leave the context now. */
  readonly entries: readonly ContextEntry[];
  /** Whether an event of the log is one that the summary covers. */
  covers(seq: number): boolean;
}

const sourcesOf = (points: readonly Point[] = [], { entries, covers }: CompactedRange): readonly number[] => {
  const named = points.flatMap((point) =>
    'seq' in point
      ? [point.seq].filter(covers)
      : entries.filter(({ turn }) => turn === point.turn).map(({ seq }) => seq),
  );
  const seqs = named.length > 0 ? named : entries.map(({ seq }) => seq);
  return [...new Set(seqs)].sort((a, b) => a - b).slice(-maxSources);
};

/**
 * Reads what a summarizer returned. The text must be valid. Extracted entries that are not valid are dropped, because
 * a model may have written them.
 */
export const readSummary = (given: unknown, range: CompactedRange, redactor: Redactor): ReadSummary => {
  const fields = (typeof given === 'object' && given !== null ? given : { summary: given }) as Record<string, unknown>;
  const text = redactor.text(parseInput('the summary', SummaryText, fields.summary));
  const entries: ExtractedEntry[] = [];
  const dropped: DroppedEntry[] = [];
  for (const [name, read] of Object.entries(collections)) {
    const all = fields[name] ?? [];
    if (!Array.isArray(all)) {
      dropped.push({ entry: pointerOf(name), reason: 'expected a list' });
      continue;
    }
    for (const [index, each] of all.slice(0, maxEntries).entries()) {
      try {
        const { id, value, points } = read(each);
        const path = pointerOf(name, redactor.text(id));
        entries.push({ path, value: redactor.json(value), sources: sourcesOf(points, range) });
      } catch (error) {
        dropped.push({ entry: `${pointerOf(name)}[${index}]`, reason: reasonOf(error) });
      }
    }
    if (all.length > maxEntries) {
      const reason = `${all.length - maxEntries} more than the ${maxEntries} that one compaction commits`;
      dropped.push({ entry: pointerOf(name), reason });
    }
  }
  return { text, entries, dropped };
};
