import { effectKinds, repeatPolicies } from '../../schema/effect-kinds.ts';
import { PerdureError } from '../../schema/error.ts';
import { isUntrustedBy } from '../../schema/taint-kinds.ts';
import type { Reconciled } from '../ports/tool.ts';
import type { ToolDeclaration } from '../session/events/call-events.ts';

/** Declares what a tracked tool changes, and what to do with a call that was in flight when its process died. */
export interface TrackDeclaration<Input = never, Output = never> extends ToolDeclaration<Input, Output> {
  /** Finds out whether a `once` call took effect, after a crash. Without it, the outcome is reported as unknown. */
  readonly reconcile?: (input: Input, call: { readonly callId: string }) => Reconciled | Promise<Reconciled>;
}

export type TrackDeclarations = Readonly<Record<string, TrackDeclaration | undefined>>;

const effects: readonly unknown[] = [...effectKinds, undefined];
const policies: readonly unknown[] = [...repeatPolicies, undefined];

const invalid = (tool: string, what: string, expected: string): PerdureError =>
  new PerdureError('INVALID_INPUT', `the tool ${tool} has ${what}: expected ${expected}`, { details: { tool } });

/** Rejects declarations that would make a call less safe than its author believes. */
export const checkDeclarations = (declarations: TrackDeclarations): void => {
  for (const [tool, declaration] of Object.entries(declarations)) {
    const given = (declaration ?? {}) as {
      readonly [Field in 'effects' | 'repeat' | 'reconcile' | 'trusted' | 'untrusted' | 'safeWhenTainted']?: unknown;
    };
    if (!effects.includes(given.effects)) {
      throw invalid(tool, `effects ${JSON.stringify(given.effects)}`, effectKinds.join(', '));
    }
    if (!policies.includes(given.repeat)) {
      throw invalid(tool, `repeat ${JSON.stringify(given.repeat)}`, repeatPolicies.join(', '));
    }
    for (const flag of ['untrusted', 'safeWhenTainted'] as const) {
      if (![true, false, undefined].includes(given[flag] as boolean | undefined)) {
        throw invalid(tool, `${flag} ${JSON.stringify(given[flag])}`, 'true or false');
      }
    }
    if (given.trusted && given.untrusted) throw invalid(tool, 'trusted and untrusted', 'one of them');
    if (given.reconcile !== undefined && typeof given.reconcile !== 'function') {
      throw invalid(tool, 'a reconcile that is not a function', 'a function that returns { outcome }');
    }
  }
};

/** The declaration of a tool. The tools of a server are untrusted, unless their declaration says otherwise. */
export const declarationOf = (declarations: TrackDeclarations, tool: string, isOfServer = false): TrackDeclaration => {
  const declared = (Object.hasOwn(declarations, tool) ? declarations[tool] : undefined) ?? {};
  const { trusted, untrusted = isOfServer && !trusted ? true : undefined } = declared;
  return { ...declared, untrusted: isUntrustedBy(tool, { trusted, untrusted }) };
};
