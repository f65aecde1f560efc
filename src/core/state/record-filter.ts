import { z } from 'zod';
import { RunId } from '../../schema/ids.ts';
import { Text } from '../../schema/json.ts';
import { toolOutcomes } from '../../schema/message.ts';
import { PathPattern } from '../../schema/path-pattern.ts';
import { type Provenance, provenances } from '../../schema/state.ts';
import { Following } from '../engine/events.ts';
import { pageFields } from '../engine/page.ts';
import type { CallStatus } from '../ports/store.ts';
import type { CommitConditions } from '../session/state/commit-record.ts';

export interface RecordWindow {
  /** First and last turn, both inclusive. Like `last`, this filter is allowed only for one session. */
  readonly turns?: { readonly from?: number | undefined; readonly to?: number | undefined } | undefined;
  readonly last?: { readonly turns: number } | undefined;
  /** Includes records that rewinds left behind. */
  readonly includeRewound?: boolean | undefined;
  readonly since?: Date | number | undefined;
  readonly until?: Date | number | undefined;
  /** At most 1000, which is also the default. A page also ends at 4 MiB. */
  readonly limit?: number | undefined;
  /** Continues after an earlier page of the same query. */
  readonly cursor?: string | undefined;
}

export interface CommitFilter extends RecordWindow {
  /** A pattern such as `/filesModified/**` or `/filesModified/src~1*`. */
  readonly path?: string | undefined;
  readonly tool?: string | undefined;
  readonly actor?: string | undefined;
  readonly provenance?: Provenance | readonly Provenance[] | undefined;
}

export interface CallFilter extends RecordWindow {
  readonly tool?: string | undefined;
  readonly actor?: string | undefined;
  readonly callId?: string | undefined;
  readonly run?: RunId | undefined;
  readonly status?: CallStatus | readonly CallStatus[] | undefined;
  /** Also reads the inputs and outputs. The limit is then 100 by default. */
  readonly input?: boolean | undefined;
}

export interface WatchFilter extends CommitConditions {
  /** The seq to start after. By default only commits after the call are reported. */
  readonly after?: number | undefined;
  readonly signal?: AbortSignal | undefined;
}

const oneOrMany = <Name extends string>(names: readonly [Name, ...Name[]]) => {
  const name = z.enum(names);
  return z.union([name, z.array(name)], { error: `expected ${names.join(', ')}, or a list of them` }).optional();
};

const Turn = z.int().nonnegative();
const Time = z.union([z.date(), z.number()]);
const Window = z.strictObject({
  turns: z.strictObject({ from: Turn.optional(), to: Turn.optional() }).optional(),
  last: z.strictObject({ turns: z.int().positive() }).optional(),
  includeRewound: z.boolean().optional(),
  since: Time.optional(),
  until: Time.optional(),
  ...pageFields,
});
const isOneWindow = ({ turns, last }: z.infer<typeof Window>): boolean => !turns || !last;
const twoWindows = { error: 'last and turns exclude each other: pass only one of them' };

export const CommitFilter = Window.extend({
  path: PathPattern.optional(),
  tool: Text.optional(),
  actor: Text.optional(),
  provenance: oneOrMany(provenances),
}).refine(isOneWindow, twoWindows);

export const CallFilter = Window.extend({
  tool: Text.optional(),
  actor: Text.optional(),
  callId: Text.optional(),
  run: RunId.optional(),
  status: oneOrMany(['running', ...toolOutcomes]),
  input: z.boolean().optional(),
}).refine(isOneWindow, twoWindows);

export const WatchFilter = Following.extend({
  path: PathPattern.optional(),
  provenance: oneOrMany(provenances),
  tool: Text.optional(),
  actor: Text.optional(),
});

export const many = <T extends string>(value: T | readonly T[] | undefined): readonly T[] | undefined =>
  typeof value === 'string' ? [value] : value;
