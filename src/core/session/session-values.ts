import { createHash } from 'node:crypto';
import { type RunStatus, runEnds } from '../../schema/statuses.ts';
import type { SessionSummary } from '../../schema/summary.ts';
import type { SessionValue, ValueConditions } from '../ports/session-value.ts';
import { viewersOf } from '../ports/viewers.ts';

/** The value that every session has. */
export const anySession: SessionValue = { name: 'any', value: '' };

/** Metadata beyond this number of keys, sorted by name, is not indexed, because each value is a row of its own. */
export const maxMetadataValues = 64;

const maxChars = 200;

/** Index entries are limited in size, so a digest replaces the end of a long text. */
const clip = (text: string): string => {
  if (text.length <= maxChars) return text;
  return `${text.slice(0, maxChars / 2).toWellFormed()}…${createHash('sha256').update(text).digest('hex')}`;
};

type Metadata = NonNullable<SessionSummary['metadata']>;

export const metadataValue = (key: string, value: unknown): SessionValue => ({
  name: `metadata:${key}`,
  value: clip(JSON.stringify(value)),
});

export const agentValue = (name: string): SessionValue => ({ name: 'agent', value: clip(name) });

export const viewerValue = (member: string): SessionValue => ({ name: 'viewer', value: member });

const isScalar = (value: unknown): boolean => typeof value !== 'object' || value === null;

/** Consecutive summaries share their metadata, and every append asks for its values. */
const known = new WeakMap<Metadata, readonly SessionValue[]>();

const metadataValues = (metadata: Metadata): readonly SessionValue[] => {
  const found = known.get(metadata);
  if (found) return found;
  const values = Object.entries(metadata)
    .filter(([, value]) => isScalar(value))
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .slice(0, maxMetadataValues)
    .map(([key, value]) => metadataValue(key, value));
  known.set(metadata, values);
  return values;
};

/** The status of the session's current or last run, as listings of runs show it. */
export const runStatusOf = ({ run, status, holder, waiting }: SessionSummary): RunStatus | undefined => {
  if (run === undefined || runEnds.some((end) => end === run)) return run;
  if (status === 'paused') return 'paused';
  return holder === 'human' || waiting !== undefined ? 'waiting' : run;
};

/** The values by which listings find the session. An append that changes none of them writes none of them. */
export const valuesOf = (summary: SessionSummary): readonly SessionValue[] => {
  const { status, holder, agent, owner, waiting, metadata } = summary;
  const run = runStatusOf(summary);
  return [
    anySession,
    { name: 'status', value: status },
    { name: 'holder', value: holder },
    ...(agent ? [agentValue(agent.name)] : []),
    ...(owner !== undefined ? [{ name: 'owner', value: owner }] : []),
    ...viewersOf(summary).map(viewerValue),
    ...(run !== undefined ? [{ name: 'run', value: run }] : []),
    ...(waiting !== undefined ? [{ name: 'waiting', value: waiting }] : []),
    ...(metadata ? metadataValues(metadata) : []),
  ];
};

export const isSameValue = (a: SessionValue, b: SessionValue): boolean => a.name === b.name && a.value === b.value;

export const fitsValues = (summary: SessionSummary, conditions: ValueConditions): boolean => {
  const values = valuesOf(summary);
  return conditions.every((any) => any.some((each) => values.some((value) => isSameValue(value, each))));
};
