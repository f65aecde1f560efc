import { z } from 'zod';
import { deepFreeze } from './deep-freeze.ts';
import { Json, Text } from './json.ts';

export { entryOf, escapeSegment, pointerOf, segmentsOfPointer } from './pointer.ts';

/** From the least to the most to be relied on. */
export const provenances = ['unverified', 'imported', 'human', 'verified'] as const;
export const Provenance = z.enum(provenances);
export type Provenance = z.infer<typeof Provenance>;

export const lowestProvenance = (all: readonly Provenance[]): Provenance =>
  provenances[Math.min(...all.map((each) => provenances.indexOf(each)), provenances.length - 1)]!;

const Note = Text.min(1).max(20_000);

const ToolUse = z.strictObject({
  calls: z.int().nonnegative(),
  ok: z.int().nonnegative(),
  failed: z.int().nonnegative(),
});
const FileChange = z.strictObject({
  change: z.enum(['created', 'modified', 'deleted', 'renamed']),
  /** Where a renamed file came from. */
  from: Text.optional(),
  tool: Text.optional(),
  callId: Text.optional(),
  /** Without a call: the event that it came after, so that each change is told. */
  after: z.int().positive().optional(),
  /** The path is a folder with so many files that changed, too many to name each. */
  files: z.int().positive().optional(),
});
/** A file that differs between two snapshots. */
export interface ChangedFile extends Pick<z.infer<typeof FileChange>, 'change' | 'from'> {
  readonly path: string;
}
const DecisionRecord = z.strictObject({ what: Note, why: Note });
const PendingAction = z.strictObject({
  what: Note,
  status: z.enum(['open', 'settled']),
  outcome: Note.optional(),
});
const PlanStep = z.strictObject({
  step: Note,
  status: z.enum(['todo', 'doing', 'done', 'dropped']),
  order: z.number(),
});
const ProgressNote = z.strictObject({ note: Note });

/** What one entry of each collection of the ledger looks like. Every collection is a record by id, never a list by index. */
export const ledgerEntries = {
  toolsUsed: ToolUse,
  filesModified: FileChange,
  decisions: DecisionRecord,
  pendingActions: PendingAction,
  plan: PlanStep,
  progress: ProgressNote,
  facts: Json,
  /** Facts, by key, that every context holds word for word. */
  pins: z.literal(true),
  scratch: Json,
} satisfies Record<string, z.ZodType>;

export type Collection = keyof typeof ledgerEntries;
export const collections = Object.keys(ledgerEntries) as readonly Collection[];

type Ledger = { readonly [C in Collection]: Readonly<Record<string, z.infer<(typeof ledgerEntries)[C]>>> };

/** The agent's own part where its schema is not known. */
export type OwnState = Record<string, Json>;

/** The typed state of a session: the ledger, and under `own` the part that its agent defines. */
export interface State<Own = OwnState> extends Ledger {
  readonly own: Readonly<Own>;
}

export const emptyState: State = deepFreeze({
  toolsUsed: {},
  filesModified: {},
  decisions: {},
  pendingActions: {},
  plan: {},
  progress: {},
  facts: {},
  pins: {},
  scratch: {},
  own: {},
});

export const maxPointerChars = 2000;

/** A path of the state as RFC 6901 writes it, such as `/facts/port`. */
export const Pointer = Text.max(maxPointerChars).regex(/^(\/[^/]*)*$/, {
  error: 'expected a JSON Pointer such as /facts/port',
});

/** RFC 6902. Stored deltas use `add`, `remove`, `replace` and `test`; callers may also say `move` and `copy`. */
export const StoredOperation = z
  .discriminatedUnion('op', [
    z.strictObject({ op: z.literal('add'), path: Pointer, value: Json }),
    z.strictObject({ op: z.literal('replace'), path: Pointer, value: Json }),
    z.strictObject({ op: z.literal('test'), path: Pointer, value: Json }),
    z.strictObject({ op: z.literal('remove'), path: Pointer }),
  ])
  .meta({ id: 'Operation' });
export type StoredOperation = z.infer<typeof StoredOperation>;

export const PatchOperation = z.discriminatedUnion('op', [
  ...StoredOperation.options,
  z.strictObject({ op: z.literal('move'), from: Pointer, path: Pointer }),
  z.strictObject({ op: z.literal('copy'), from: Pointer, path: Pointer }),
]);
export type PatchOperation = z.infer<typeof PatchOperation>;
