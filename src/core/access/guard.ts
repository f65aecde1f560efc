import type { Area } from '../../schema/areas.ts';
import { isPerdureError, PerdureError } from '../../schema/error.ts';
import type { MemberRole } from '../../schema/member.ts';
import { isAtLeast } from '../../schema/member-roles.ts';
import type { Caller, GiveHandle } from '../engine/scope.ts';
import type { CallsUnderWay } from './calls-under-way.ts';

/** What a verb takes. */
export interface Permission {
  readonly role: MemberRole;
  /** A key must not leave out any of them; without one, a key of any area will do. */
  readonly areas?: readonly Area[] | undefined;
  /** Whom to ask where the role alone does not decide; without it, anybody who has the role. */
  readonly whom?: string | undefined;
  /** Kept in the audit log whatever its role; those that take more than a member are in any case. */
  readonly isAudited?: true | undefined;
  /** Its answer is no promise: a refusal is thrown at once. */
  readonly isDirect?: true | undefined;
}

export type PermissionTable = Readonly<Record<string, Readonly<Record<string, Permission>>>>;

/** Keeps what was asked before the work, and how it ended. */
export type Audited = <T>(verb: string, target: string | undefined, work: () => Promise<T>) => Promise<T>;

const forbidden = (verb: string, message: string, details: object): PerdureError =>
  new PerdureError('FORBIDDEN', message, { details: { verb, ...details } });

export const refusalOf = (caller: Caller, verb: string, permission: Permission): PerdureError | undefined => {
  const { role, areas = [], whom = 'somebody who has it' } = permission;
  if (!isAtLeast(caller.role, role)) {
    const message = `${verb} takes the role ${role}, and ${caller.member} acts as ${caller.role}: ask ${whom}`;
    return forbidden(verb, message, { needs: role, role: caller.role });
  }
  const area = areas.find((each) => caller.areas?.includes(each) === false);
  if (!area || !caller.areas) return undefined;
  const message = `${verb} is of the area ${area}, and the key is limited to ${caller.areas.join(', ')}: use another key`;
  return forbidden(verb, message, { area, areas: caller.areas });
};

export const isAudited = (permission: Permission): boolean =>
  permission.isAudited === true || isAtLeast(permission.role, 'approver');

/** What a verb is asked of comes first, by its name or in a field of it. */
const targetOf = ([first]: readonly unknown[]): string | undefined => {
  const { id, member } = Object(first) as { readonly id?: unknown; readonly member?: unknown };
  const target = [first, id, member].find((each) => typeof each === 'string');
  return typeof target === 'string' ? target : undefined;
};

/** Options have few levels; what is deeper is no option of ours, and refused where it is looked at. */
const maxLevels = 8;

/** What does something, such as a stream, has more than names and values. */
const isPlainData = (arg: unknown): arg is object =>
  typeof arg === 'object' &&
  arg !== null &&
  Object.getPrototypeOf(arg) === Object.prototype &&
  Object.getOwnPropertySymbols(arg).length === 0;

/** What is asked for is done after it was written down: what the caller does with its options meanwhile changes nothing. */
const ownOptions = (arg: unknown, levels = maxLevels): unknown => {
  if (levels === 0) return arg;
  if (Array.isArray(arg)) return arg.map((item) => ownOptions(item, levels - 1));
  if (!isPlainData(arg)) return arg;
  return Object.fromEntries(Object.entries(arg).map(([name, value]) => [name, ownOptions(value, levels - 1)]));
};

type Call = (...args: readonly unknown[]) => unknown;

/** Wraps each method when it is read: a handle has dozens, and most live for one call. Checks the permission, audits, and counts the call as under way. */
export const guardWith = (
  table: PermissionTable,
  caller: Caller,
  audited: Audited,
  calls: Pick<CallsUnderWay, 'count'>,
): GiveHandle => {
  const guarded =
    (verb: string, permission: Permission, call: Call): Call =>
    (...given) => {
      const args = isAudited(permission) ? given.map((arg) => ownOptions(arg)) : given;
      const refusal = refusalOf(caller, verb, permission);
      const work = async () => {
        if (refusal) throw refusal;
        return call(...args);
      };
      if (isAudited(permission)) return audited(verb, targetOf(args), work);
      if (!refusal) return call(...args);
      if (permission.isDirect) throw refusal;
      return work();
    };
  return (name, handle) =>
    new Proxy(handle, {
      get: (target, method) => {
        const value = Reflect.get(target, method);
        if (typeof value !== 'function' || method in Object.prototype) return value;
        const verb = `${name}.${String(method)}`;
        const permission = table[name]?.[String(method)];
        if (!permission) throw new Error(`${verb} has no permission`);
        const call = guarded(verb, permission, value as Call);
        return (...args: readonly unknown[]) => calls.count(call(...args));
      },
    });
};

/** How a failure is told in the audit log. */
export const outcomeOf = (error: unknown): string => (isPerdureError(error) ? error.code : 'DEFECT');
