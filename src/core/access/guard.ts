import type { Area } from '../../schema/areas.ts';
import { isPerdureError, PerdureError } from '../../schema/error.ts';
import type { MemberRole } from '../../schema/member.ts';
import { isAtLeast } from '../../schema/member-roles.ts';
import type { Caller, GiveHandle } from '../engine/scope.ts';
import type { CallsUnderWay } from './calls-under-way.ts';

/** Requirements of a verb. */
export interface Permission {
  readonly role: MemberRole;
  /** Set for a verb that a caller of the reach `own` may not use, because it concerns the whole workspace. */
  readonly reach?: 'workspace' | undefined;
  /**
   * The areas that a verb needs. A key that is limited to areas must include all of them. If there are none, any key
   * is sufficient.
   */
  readonly areas?: readonly Area[] | undefined;
  /**
   * The members that a rejected caller should ask, if the role alone does not decide. By default, any member with the
   * role.
   */
  readonly whom?: string | undefined;
  /** Set to audit the verb whatever its role. A verb that requires more than the role `member` is always audited. */
  readonly isAudited?: true | undefined;
  /** Set for a method that returns no promise, so that a rejection is thrown synchronously. */
  readonly isDirect?: true | undefined;
}

export type PermissionTable = Readonly<Record<string, Readonly<Record<string, Permission>>>>;

/** Writes an audit entry before the work, and its outcome afterwards. */
export type Audited = <T>(verb: string, target: string | undefined, work: () => Promise<T>) => Promise<T>;

const forbidden = (verb: string, message: string, details: object): PerdureError =>
  new PerdureError('FORBIDDEN', message, { details: { verb, ...details } });

export const refusalOf = (caller: Caller, verb: string, permission: Permission): PerdureError | undefined => {
  const { role, areas = [], whom = 'a member who has it' } = permission;
  if (!isAtLeast(caller.role, role)) {
    const message = `${verb} requires the role ${role}, and ${caller.member} acts as ${caller.role}: ask ${whom}`;
    return forbidden(verb, message, { needs: role, role: caller.role });
  }
  if (permission.reach === 'workspace' && caller.reach === 'own') {
    const message = `${verb} requires the reach workspace, and ${caller.member} acts with the reach own: ask ${whom}`;
    return forbidden(verb, message, { needs: role, reach: caller.reach });
  }
  const area = areas.find((each) => caller.areas?.includes(each) === false);
  if (!area || !caller.areas) return undefined;
  const message = `${verb} belongs to the area ${area}, and the key is limited to ${caller.areas.join(', ')}: use another key`;
  return forbidden(verb, message, { area, areas: caller.areas });
};

export const isAudited = (permission: Permission): boolean =>
  permission.isAudited === true || isAtLeast(permission.role, 'approver');

/** The target of a verb is its first argument, or the field `id` or `member` of that argument. */
const targetOf = ([first]: readonly unknown[]): string | undefined => {
  const { id, member } = Object(first) as { readonly id?: unknown; readonly member?: unknown };
  const target = [first, id, member].find((each) => typeof each === 'string');
  return typeof target === 'string' ? target : undefined;
};

/** The maximum nesting that is copied. Valid options are never nested deeper, and validation rejects deeper values. */
const maxLevels = 8;

/** Whether a value is plain data. Objects with behaviour, such as streams, must not be copied. */
const isPlainData = (arg: unknown): arg is object =>
  typeof arg === 'object' &&
  arg !== null &&
  Object.getPrototypeOf(arg) === Object.prototype &&
  Object.getOwnPropertySymbols(arg).length === 0;

/**
 * Copies the options, because the work starts only after the audit entry is written. The caller may change its objects
 * meanwhile.
 */
const ownOptions = (arg: unknown, levels = maxLevels): unknown => {
  if (levels === 0) return arg;
  if (Array.isArray(arg)) return arg.map((item) => ownOptions(item, levels - 1));
  if (!isPlainData(arg)) return arg;
  return Object.fromEntries(Object.entries(arg).map(([name, value]) => [name, ownOptions(value, levels - 1)]));
};

type Call = (...args: readonly unknown[]) => unknown;

/**
 * Checks the permission, audits the call, and counts it as in flight. Wraps a method only when it is read, because a
 * handle has dozens of methods and most handles are used for one call.
 */
export const guardWith = (
  table: PermissionTable,
  caller: Caller,
  audited: Audited,
  calls: Pick<CallsUnderWay, 'count'>,
): GiveHandle => {
  const guarded =
    (verb: string, permission: Permission, call: Call, id: unknown): Call =>
    (...given) => {
      const args = isAudited(permission) ? given.map((arg) => ownOptions(arg)) : given;
      const refusal = refusalOf(caller, verb, permission);
      const work = async () => {
        if (refusal) throw refusal;
        return call(...args);
      };
      if (isAudited(permission)) return audited(verb, targetOf(args) ?? targetOf([id]), work);
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
        if (!permission) throw new Error(`${verb} is not in the permission table`);
        const call = guarded(verb, permission, value as Call, Reflect.get(target, 'id'));
        return (...args: readonly unknown[]) => calls.count(call(...args));
      },
    });
};

/** The outcome that the audit log records for a failure. */
export const outcomeOf = (error: unknown): string => (isPerdureError(error) ? error.code : 'DEFECT');
