import {
  type Charge,
  type ChargeAmounts,
  type ChargeGroup,
  type ChargeGroupSum,
  type ChargeQuery,
  type ChargeSum,
  type GroupedCharges,
  isNewestFirst,
} from '../core/ports/charges.ts';
import { roundUsd } from '../stores/log/charge-sums.ts';
import { spansOf } from '../stores/log/lineage.ts';
import { type MemoryWorkspace, seenIn, segmentsIn } from './memory-database.ts';

const sumUp = (charges: readonly Charge[], of: (charge: Charge) => number): number =>
  charges.reduce((sum, charge) => sum + of(charge), 0);

const amountsOf = (charges: readonly Charge[]): ChargeAmounts => ({
  inputTokens: sumUp(charges, ({ inputTokens }) => inputTokens),
  outputTokens: sumUp(charges, ({ outputTokens }) => outputTokens),
  cachedTokens: sumUp(charges, ({ cachedTokens }) => cachedTokens),
  usd: roundUsd(sumUp(charges, ({ usd }) => usd ?? 0)),
  unpriced: charges.filter(({ usd, isRest }) => usd === undefined && !isRest).length,
});

const sumOf = (charges: readonly Charge[]): ChargeSum => {
  const own = charges.filter(({ child }) => child === undefined);
  const children = charges.filter(({ child }) => child !== undefined);
  return { calls: own.filter(({ isRest }) => !isRest).length, own: amountsOf(own), children: amountsOf(children) };
};

const chargesIn = (
  workspace: MemoryWorkspace,
  { within, viewer, session, agent, model, member, since = 0, until = Number.POSITIVE_INFINITY }: ChargeQuery,
): readonly Charge[] => {
  const spans = within && spansOf(segmentsIn(workspace, within.session), within.ranges);
  const matches = (wanted: string | undefined, value: string | undefined): boolean =>
    wanted === undefined || wanted === value;
  return seenIn(workspace, { within, viewer })
    .flatMap(({ charges }) => charges)
    .filter(
      ({ session: of, seq }) =>
        !spans || spans.some((span) => span.session === of && span.from <= seq && seq <= span.to),
    )
    .filter((charge) => matches(session, charge.session) && matches(agent, charge.agent))
    .filter((charge) => matches(model, charge.model) && matches(member, charge.member))
    .filter(({ at }) => since <= at && at <= until);
};

const dateOf = ({ at }: Charge): string => new Date(at).toISOString();
const keyOf: Readonly<Record<ChargeGroup, (charge: Charge) => string>> = {
  run: ({ run = '' }) => run,
  session: ({ session }) => session,
  agent: ({ agent = '' }) => agent,
  model: ({ model = '' }) => model,
  member: ({ member = '' }) => member,
  day: (charge) => dateOf(charge).slice(0, 10),
  month: (charge) => dateOf(charge).slice(0, 7),
};

export const sumChargesIn = (workspace: MemoryWorkspace, query: ChargeQuery): ChargeSum =>
  sumOf(chargesIn(workspace, query));

export const groupChargesIn = (workspace: MemoryWorkspace, query: GroupedCharges): readonly ChargeGroupSum[] => {
  const { by, after, limit } = query;
  const isWithChildren = by === 'run' || by === 'session';
  const charges = chargesIn(workspace, query).filter(({ child }) => isWithChildren || child === undefined);
  const order = (a: string, b: string): number => (a === b ? 0 : a < b !== isNewestFirst[by] ? -1 : 1);
  return [...Map.groupBy(charges, keyOf[by])]
    .filter(([key]) => after === undefined || order(after, key) < 0)
    .sort(([a], [b]) => order(a, b))
    .slice(0, limit)
    .map(([key, group]) => ({ key, ...sumOf(group) }));
};
