import type { Area } from '../../schema/areas.ts';
import type { MemberRole } from '../../schema/member.ts';
import type { Permission } from '../access/guard.ts';
import type { Run } from '../runs/runs.ts';
import type { RuntimeVerbs, ScopedRuntime } from './scoped-runtime.ts';
import type { Session } from './session.ts';

type Method = (...args: never[]) => unknown;
/**
 * The permission of a direct method, which returns no promise. A synchronous call cannot wait for the audit log. No
 * privileged verb may be direct.
 */
type DirectPermission = Permission & { readonly role: 'viewer' | 'member'; readonly isDirect: true };

/** The permissions of all methods of a handle. A handle with a method without a permission does not compile. */
type PermissionsOf<Handle> = {
  readonly [Name in keyof Handle as Handle[Name] extends Method ? Name : never]: Handle[Name] extends Method
    ? ReturnType<Handle[Name]> extends Promise<unknown>
      ? Permission
      : DirectPermission
    : never;
};

/** The handles of a runtime and of a session, and the runtime's own verbs. */
interface Handles extends Omit<ScopedRuntime, keyof RuntimeVerbs> {
  readonly session: Session;
  readonly run: Run;
  readonly files: Session['files'];
  readonly artifacts: Session['artifacts'];
  readonly runtime: RuntimeVerbs;
}

const take = <Role extends MemberRole>(role: Role, ...areas: readonly Area[]) => ({ role, areas }) as const;
const direct = <Role extends 'viewer' | 'member'>(role: Role, ...areas: readonly Area[]) =>
  ({ role, areas, isDirect: true }) as const;

const read = take('viewer', 'sessions');
const follow = direct('viewer', 'sessions');
const change = take('member', 'sessions');
/** The permission to go back or to merge, which moves files too. */
const moveFiles = take('member', 'sessions', 'files');
/** The permission to change what a session may spend or trust. It is audited, because its role is above `member`. */
const loosen = take('approver', 'sessions');
/**
 * The permission to export. A bundle also contains the content of files, so it needs the area `files`. Logs and states
 * contain only the names of files.
 */
const takeAway = direct('member', 'sessions', 'files');
const readFile = take('viewer', 'files');
const changeFile = take('member', 'files');
/** The permission to answer an approval. The approval's own rule restricts this further. */
const settle = {
  ...take('member', 'approvals'),
  whom: 'a member whose role the approval accepts, by default approver or admin',
  isAudited: true,
} as const;
/** The permission for what concerns the whole workspace, which no caller of the reach `own` has. */
const ofWorkspace = <P extends Permission>(permission: P) => ({ ...permission, reach: 'workspace' }) as const;
const maintain = ofWorkspace(take('admin', 'maintenance'));
const manageMembers = ofWorkspace(take('admin', 'members'));
const manageQuotas = ofWorkspace(take('admin', 'quotas'));
const manageKeys = ofWorkspace(take('admin', 'keys'));
const manageSecrets = ofWorkspace(take('admin', 'vault'));
const manageWebhooks = ofWorkspace(take('admin', 'webhooks'));

/** The minimum role of each verb, and the areas that an API key must include. Every surface uses this table. */
export const permissions = {
  sessions: {
    open: change,
    /** `get` needs no area, because each verb of the handle needs its own. */
    get: { role: 'viewer' },
    list: read,
    export: takeAway,
    import: maintain,
    commits: read,
    toolCalls: read,
    runs: read,
    rebuildProjections: maintain,
  },
  session: {
    summary: read,
    append: change,
    update: change,
    share: change,
    events: follow,
    transcript: read,
    context: read,
    pause: change,
    resume: change,
    close: change,
    reopen: change,
    archive: change,
    unarchive: change,
    send: change,
    inputs: read,
    run: read,
    runs: read,
    cancel: change,
    answer: change,
    approve: settle,
    deny: settle,
    handoff: change,
    limit: ofWorkspace(loosen),
    usage: take('viewer', 'usage'),
    state: read,
    commit: change,
    lift: ofWorkspace(loosen),
    taint: read,
    clearTaint: ofWorkspace(take('approver', 'approvals')),
    commits: read,
    toolCalls: read,
    watchCommits: follow,
    trace: read,
    revert: moveFiles,
    adopt: moveFiles,
    diff: read,
    compare: read,
    bind: change,
    pin: change,
    unpin: change,
    compact: change,
    recall: read,
    track: change,
    beginCall: change,
    endCall: change,
    retry: moveFiles,
    attempts: read,
    replay: change,
    fork: change,
    rewind: moveFiles,
    happened: read,
    tree: read,
    verify: read,
    damage: read,
    repair: change,
    export: takeAway,
  },
  run: { stream: follow, events: follow, status: read, result: read, waitForEnd: read, cancel: change },
  files: {
    list: readFile,
    read: readFile,
    write: changeFile,
    delete: changeFile,
    diff: readFile,
    changes: readFile,
    history: readFile,
    restore: changeFile,
    copyTo: readFile,
  },
  artifacts: { keep: changeFile, list: readFile, read: readFile },
  agents: { list: direct('viewer', 'agents'), get: { role: 'viewer', isDirect: true } },
  approvals: {
    list: take('viewer', 'approvals'),
    handoffs: take('viewer', 'approvals'),
    approve: settle,
    deny: settle,
  },
  members: {
    me: { role: 'viewer' },
    list: manageMembers,
    add: manageMembers,
    change: manageMembers,
    remove: manageMembers,
  },
  quotas: { mine: take('viewer', 'usage'), list: manageQuotas, set: manageQuotas, remove: manageQuotas },
  keys: {
    create: manageKeys,
    createToken: ofWorkspace(take('admin', 'tokens')),
    list: manageKeys,
    rotate: manageKeys,
    revoke: manageKeys,
  },
  audit: { list: ofWorkspace(take('admin', 'audit')) },
  vault: { set: manageSecrets, list: manageSecrets, remove: manageSecrets, rotate: manageSecrets },
  webhooks: {
    add: manageWebhooks,
    list: manageWebhooks,
    change: manageWebhooks,
    remove: manageWebhooks,
    rotate: manageWebhooks,
    deliveries: manageWebhooks,
    redeliver: manageWebhooks,
    test: manageWebhooks,
  },
  runtime: {
    once: { role: 'viewer' },
    check: { role: 'viewer' },
    gc: maintain,
    changes: follow,
    workers: maintain,
    usage: take('viewer', 'usage'),
    worker: ofWorkspace(direct('member', 'maintenance')),
    dispatcher: ofWorkspace(direct('member', 'maintenance')),
  },
} as const satisfies { readonly [Name in keyof Handles]: PermissionsOf<Handles[Name]> };

type Table = typeof permissions;
/** The name of a method of a handle, such as `session.append` or `keys.create`. */
export type Verb = { [Name in keyof Table]: `${Name}.${keyof Table[Name] & string}` }[keyof Table];

export const permissionFor = (verb: Verb): Permission => {
  const [handle, method] = verb.split('.') as [keyof Table, string];
  return (permissions[handle] as Readonly<Record<string, Permission>>)[method]!;
};
