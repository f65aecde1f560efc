import type { Json } from '../../../schema/json.ts';
import type { Taint } from '../../../schema/taint.ts';
import type { TaintPolicy } from '../../../schema/taint-kinds.ts';
import { taintText } from '../../../schema/taint-text.ts';
import type { Tool } from '../../ports/tool.ts';
import type { SessionFold } from '../fold.ts';
import { taintBefore } from '../taint-fold.ts';

/** What the policies of an agent say, by the names of tools. `*` is for the tools that are gated by default. */
export type TaintPolicies = Readonly<Record<string, TaintPolicy>>;

interface GatedCall {
  readonly tool: Tool;
  readonly callId: string;
  readonly input: Json;
}

/** A call that may not begin by itself, because of what the context held when the model asked for it. */
export interface HeldCall {
  readonly policy: Exclude<TaintPolicy, 'allow'>;
  readonly by: Taint;
}

const policyFor = (fold: SessionFold, policies: TaintPolicies, { tool, input }: GatedCall): TaintPolicy => {
  if (Object.hasOwn(policies, tool.name)) return policies[tool.name]!;
  const isSafe = tool.effects !== 'once' || tool.safeWhenTainted || (tool.isConfined(input) && !fold.boundTo);
  return isSafe ? 'allow' : (policies['*'] ?? 'approve');
};

/**
 * The descriptions that outside servers wrote. They are in every context of the agent. Those of the call's own server
 * do not count, because that server decides what its tools do in any case.
 */
const describedOutside = (tools: Iterable<Tool>, { tool }: GatedCall): Taint['sources'] => {
  const servers = new Set([...tools].flatMap(({ describedBy }) => describedBy ?? []));
  if (tool.describedBy !== undefined) servers.delete(tool.describedBy);
  return [...servers].map((server) => ({ tool: server }));
};

/**
 * Returns why a call is held, or undefined if it may begin. Only what came in before the message that asks for the call
 * counts: the model knew nothing else. So the answer for one call never becomes stricter, however late the call begins.
 */
export const heldByTaint = (
  fold: SessionFold,
  { tainted: policies, tools }: { readonly tainted: TaintPolicies; readonly tools: ReadonlyMap<string, Tool> },
  call: GatedCall,
): HeldCall | undefined => {
  const policy = policyFor(fold, policies, call);
  if (policy === 'allow') return undefined;
  const asked = fold.openCalls[call.callId]?.seq ?? Number.POSITIVE_INFINITY;
  const { sources: results, more } = taintBefore(fold.taint, asked);
  const sources = [...results, ...describedOutside(tools.values(), call)];
  if (sources.length === 0) return undefined;
  const { allowed, isFull } = fold.taint;
  const names = Object.hasOwn(allowed, call.tool.name) ? allowed[call.tool.name]! : [];
  const isAllowed = policy === 'approve' && !isFull && sources.every(({ tool }) => names.includes(tool));
  return isAllowed ? undefined : { policy, by: { sources: sources.slice(0, maxNamed), more } };
};

const maxNamed = 20;

/** What a model and a person are told about a held call. */
export const heldText = ({ by }: HeldCall): string => `data from outside is in the context (${taintText(by)})`;
