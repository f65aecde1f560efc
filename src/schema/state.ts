import { z } from 'zod';
import { listOf } from './bounded.ts';
import { deepFreeze } from './deep-freeze.ts';
import { Json, Text } from './json.ts';
import type { Waiting } from './waiting.ts';

/** The levels of provenance, from the least to the most reliable. */
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
  /** The previous path of a renamed file. */
  from: Text.optional(),
  tool: Text.optional(),
  callId: Text.optional(),
  /** For a change without a call: the seq of the preceding event, so that repeated changes of a file stay distinct. */
  after: z.int().positive().optional(),
  /** Present if the path is a folder with too many changed files to list. The value is the number of those files. */
  files: z.int().positive().optional(),
});
/** A file that differs between two snapshots. */
export interface ChangedFile extends Pick<z.infer<typeof FileChange>, 'change' | 'from'> {
  readonly path: string;
}
const DecisionRecord = z.strictObject({
  what: Note,
  why: Note,
  /** How sure the maker of the decision was, from 0 to 1. */
  confidence: z.number().min(0).max(1).optional(),
  /** What was considered and not chosen. */
  alternatives: listOf(Text.min(1).max(500), { max: 20 }).optional(),
});
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

/** The entry schema of each collection in the ledger. Every collection is a record by id, never a list by index. */
export const ledgerEntries = {
  toolsUsed: ToolUse,
  filesModified: FileChange,
  decisions: DecisionRecord,
  pendingActions: PendingAction,
  plan: PlanStep,
  progress: ProgressNote,
  facts: Json,
  /** The keys of facts that every context includes verbatim. */
  pins: z.literal(true),
  scratch: Json,
} satisfies Record<string, z.ZodType>;

export type Collection = keyof typeof ledgerEntries;
export const collections = Object.keys(ledgerEntries) as readonly Collection[];

type Ledger = { readonly [C in Collection]: Readonly<Record<string, z.infer<(typeof ledgerEntries)[C]>>> };

/** The type of the agent's own part of the state if its schema is not known. */
export type OwnState = Record<string, Json>;

/** The typed state of a session: the ledger, and under `own` the part that its agent defines. */
export interface State<Own = OwnState> extends Ledger {
  readonly own: Readonly<Own>;
}

/** The typed state as readers receive it: with what the session waits for, which is computed at reading. */
export interface ShownState<Own = OwnState> extends State<Own> {
  readonly waiting: Waiting;
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

/** The collections that the runtime keeps about calls and files. Their entries have no provenance. */
const bookkeeping: ReadonlySet<string> = new Set<Collection>(['toolsUsed', 'filesModified']);

/** Whether what stands at a path of the state has a provenance. */
export const hasProvenance = (path: string): boolean => !bookkeeping.has(path.split('/', 2)[1] ?? '');

export const maxPointerChars = 2000;

/** A path in the state as an RFC 6901 JSON Pointer, such as `/facts/port`. */
export const Pointer = Text.max(maxPointerChars).regex(/^(\/[^/]*)*$/, {
  error: 'expected a JSON Pointer such as /facts/port',
});

/**
 * An RFC 6902 operation. Stored deltas only use `add`, `remove`, `replace` and `test`. Callers may also use `move` and
 * `copy`.
 */
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
