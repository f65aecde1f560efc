import type { ErrorCode } from './error.ts';

/** What an error is about, for somebody who met its code. Nothing imports this at run time but help and documents. */
export interface ErrorEntry {
  /** What happened. */
  readonly cause: string;
  /** What to do now. */
  readonly remedy: string;
  /** What programs find in its details. */
  readonly details?: string;
}

/** `DEFECT` is what the edges call a failure that is none of the codes. */
export const errorCatalog: Readonly<Record<ErrorCode | 'DEFECT', ErrorEntry>> = {
  INVALID_INPUT: {
    cause:
      'Something that was given is malformed: an unknown field or option, a wrong type, an id of another kind, text with U+0000 or a lone surrogate, a path that leads out of the worktree. Nothing was read or written.',
    remedy: 'Mend the call: the message names the field and what it takes.',
  },
  PAYLOAD_TOO_LARGE: {
    cause:
      'One thing is larger than is taken in one piece: an event over 16 MiB, a file, the body of a request, a listing or a comparison of files.',
    remedy:
      'Keep large content as a file and name it in the message; send less at once, or ask for a folder instead of everything.',
    details: '`maxBytes` is the limit, where there is one.',
  },
  SESSION_NOT_FOUND: {
    cause: 'The workspace has no session of this id. It may be in another workspace or another store.',
    remedy: 'Look with `perdure ls`, and check `--store`, `--server` and `--workspace`.',
  },
  SESSION_EXISTS: {
    cause: 'A session was to be made under an id that is taken.',
    remedy: 'Open it again without an id of your own, or take another one.',
  },
  POINT_NOT_FOUND: {
    cause:
      'The place that was named is not in the session: a seq beyond its head, a turn that was not played or was rewound, a commit that is none, a path of the state with nothing at it.',
    remedy: 'Look with `perdure log SESSION` which events, turns and commits there are.',
  },
  BLOB_NOT_FOUND: {
    cause: 'The store has no bytes under a hash that the log or the caller names.',
    remedy:
      'Run `perdure verify SESSION` to see what is missing; restore the store from a copy, or import the session again from a bundle.',
  },
  FILE_NOT_FOUND: {
    cause:
      'The files of the session, at the point that was asked for, have nothing at this path, a folder or a link in its place, or no artifact of this name; or there is no such file or folder on this machine.',
    remedy: 'Look with `perdure files ls SESSION` or `perdure artifacts SESSION`.',
    details: '`nearby` has paths that look alike.',
  },
  ILLEGAL_TRANSITION: {
    cause:
      'The lifecycle does not allow this from the status that the session has, or not while it has a run that is at work, waits or is paused.',
    remedy:
      'Resume a session that is paused, reopen one that is closed, restore one that is archived; where a run is in the way, cancel it.',
    details: '`allowed` has what is allowed now, by the names of the library.',
  },
  STATE_INVALID: {
    cause:
      "The commit would leave a state that the ledger's or the agent's schema refuses, or pins a fact that is not there. Nothing was committed.",
    remedy: 'Mend the value at the paths that the message names, and commit again.',
  },
  REVERT_CONFLICT: {
    cause: 'What the commit changed was changed again by later ones.',
    remedy: 'Revert the later ones first, or commit the value you want. Files: restore or write those you want.',
    details: '`later` has the events of those.',
  },
  ADOPT_CONFLICT: {
    cause: 'Both branches changed the same, or the two sessions are not of one tree.',
    remedy: 'Choose `ours` or `theirs`; adopt only a fork of this session or of its parent.',
    details: '`conflicts` and `files` have what both changed.',
  },
  AGENT_INVALID: {
    cause:
      'A definition of an agent cannot be used, the configuration holds no agent of this name, or the session has none that could answer.',
    remedy:
      'Mend the definition as the message says; `perdure agents` lists what there is. A loop of your own appends to a session without an agent.',
  },
  AGENT_VERSION_UNAVAILABLE: {
    cause:
      'The session is bound to a version of an agent, or to a state schema, that this process does not hold. Its runs wait.',
    remedy:
      'Pass that version to `openRuntime({ agents })` or name its file with `--config`; bind the session to a newer version that has `migrate`.',
  },
  HOSTED_MODEL_UNAVAILABLE: {
    cause: "The model's name is not understood, its script is not there, or its provider has no key or address here.",
    remedy: 'Set what the message names, such as `ANTHROPIC_API_KEY`, or name another model as `provider/model`.',
  },
  RUN_NOT_FOUND: {
    cause:
      'The session has no run of this id, or it has ended and what was asked needs one that is queued or under way.',
    remedy: 'Look with `perdure log SESSION` which runs there are.',
  },
  SESSION_BUSY: {
    cause: 'An input with the policy `reject` came while a run was at work, or as many inputs wait as a session takes.',
    remedy:
      'Wait for the run, or send with the policy `queue`, `steer` or `interrupt`; send more when some were answered.',
  },
  APPROVAL_NOT_FOUND: {
    cause:
      'No approval or question of this id waits in the session: it was answered, has expired, or its call is over.',
    remedy: 'Look with `perdure approvals` which ones wait.',
  },
  APPROVAL_SETTLED: {
    cause: 'The approval was answered already, and otherwise. An answer is given once.',
    remedy: 'Nothing: the first answer holds. What the run does next can be steered by another input.',
  },
  APPROVAL_FORBIDDEN: {
    cause:
      'The approval names who may answer, by role or as somebody other than who asked for the run, and it is not you.',
    remedy: 'Ask somebody who may: the message says who.',
  },
  TOOL_INVALID: {
    cause: 'A definition of a tool or of an MCP server cannot be used, or a package that it needs is not installed.',
    remedy: 'Mend the definition or install the package, as the message says.',
  },
  CONFLICT: {
    cause:
      'Somebody else changed the same meanwhile, more often than it is tried again; or what was to be made or written is there already, or is not what was expected.',
    remedy: 'Look at it again, and try again when it is quieter, under another name, or with what is there now.',
  },
  FENCED: {
    cause:
      'The session was claimed, cancelled, handed over or rewound since this writer took it on: its epoch is over, and nothing of this write landed.',
    remedy: 'Stop this loop. To go on, track or claim the session anew and read what has happened.',
  },
  WRITER_FORBIDDEN: {
    cause:
      'Somebody outside a run wanted to write what runs alone write (`run.*`, `tool.*`, `model.*`), or the result of a call of a run that is under way.',
    remedy:
      'Hand the session over first (`perdure handoff`), or journal the calls of your own loop with `session.track`.',
  },
  KEY_REUSED: {
    cause: 'The idempotency key was used before, for another body or by another member.',
    remedy: 'Take a new key for a new request; repeat the very same request to get its first answer.',
  },
  EVENT_DAMAGED: {
    cause: 'An event is missing, or its bytes are not those that were written.',
    remedy:
      'Run `perdure verify SESSION`, which names it, and restore the store from a copy or import the session from a bundle. `perdure repair` mends what can be computed again from the log.',
  },
  EVENT_UNSUPPORTED: {
    cause: 'A newer release wrote an event of a type or version that this one does not know.',
    remedy: 'Upgrade perdure.',
  },
  BUNDLE_INVALID: {
    cause: 'The file is no bundle, was cut off, or its hashes do not agree. Nothing was imported.',
    remedy: 'Export it again from its source, and import that.',
  },
  BUNDLE_CONFLICT: {
    cause: 'A session of the bundle is in this store already, and their logs went different ways.',
    remedy: 'Import the bundle into another workspace or another store.',
  },
  STORE_BUSY: {
    cause:
      'The store did not answer in time: another writer holds it, or all connections to PostgreSQL are in use; or the server imports another bundle into the workspace, or has no room for another large body. Nothing was written.',
    remedy: 'Try again; on PostgreSQL raise `poolSize` if it comes often.',
  },
  STORE_FULL: {
    cause: 'The disk of the store, of a worktree or of temporary files is full.',
    remedy:
      'Make room: `perdure gc` removes files that nothing names any more. Then repeat what failed; nothing acknowledged was lost.',
  },
  STORE_CORRUPT: {
    cause: 'The database, or a blob in it, is damaged, disagrees with the logs, or belongs to another application.',
    remedy:
      'Run `perdure verify --all`, which names what is wrong; `perdure repair --projections` makes anew what logs tell; the rest comes from a copy of the store or a bundle.',
  },
  STORE_UNAVAILABLE: {
    cause:
      'The store cannot be opened or reached: no file there, no server, a refused role, or a setting under which it could lose what it acknowledges.',
    remedy: 'Check `--store` or `PERDURE_STORE`, and that what they name is there and lets this user in.',
    details: 'Where `outcome` is `unknown`, it may have been done: repeat it with the same idempotency key.',
  },
  STORE_NEWER: {
    cause: 'A newer release has changed the database so that this one may not read it.',
    remedy: 'Upgrade perdure.',
    details: '`needs` is the least release that may read it.',
  },
  RUNTIME_CLOSED: {
    cause: 'The runtime, worker or wait was ended while this was under way. Runs go on with the next worker.',
    remedy: 'Open the runtime again, and ask again.',
  },
  FILE_UNAVAILABLE: {
    cause:
      "A file or folder of this machine cannot be used: its folder is missing, it is in the way, not permitted, a link, or git could not clone it. The session's own files are not meant.",
    remedy: 'Name another one, or mend what the message says about it.',
  },
  FORBIDDEN: {
    cause:
      'The role of the member, or the areas of the key, do not reach to this verb; or the server does not answer to this name or to pages of this origin.',
    remedy:
      'Ask somebody with a role that may, or for a key with the area; start the server with `--allow-host` or `--allow-origin` if it should answer.',
    details: '`needs` is the least role.',
  },
  UNAUTHENTICATED: {
    cause: 'The request has no key, or one that is unknown, expired, rotated or revoked.',
    remedy:
      'On the store itself, without `--server`, look which keys count with `perdure keys ls`, or make one with `perdure keys create`; send it as `authorization: Bearer pdk_…`, or set `PERDURE_KEY`.',
  },
  RATE_LIMITED: {
    cause:
      'More came with this key, or with the keys of its workspace, than the server takes: requests, streams and waits that are open, or bytes of bodies. This one was not begun.',
    remedy:
      'Wait a little, as the client does by itself, or end what is open; a program that serves can set another `rate`, `workspaceRate`, `streamsPerKey` or `bodies`.',
    details: '`retryAfterSeconds` is how long to wait.',
  },
  PRECONDITION_FAILED: {
    cause:
      'The state changed after it was read, and the change over HTTP named the state it was made for (`If-Match`).',
    remedy: 'Read the state again, make the change on it, and send it with the new tag.',
  },
  WORKSPACE_NOT_FOUND: {
    cause: 'The store has no workspace of this name.',
    remedy: 'Add it with `perdure workspaces add NAME`.',
  },
  MEMBER_NOT_FOUND: {
    cause: 'The workspace has no member of this name.',
    remedy: 'Look with `perdure members ls`, or add it with `perdure members add`.',
  },
  LAST_ADMIN: {
    cause: 'The only admin of a workspace would be removed or made less.',
    remedy: 'Make another member admin first.',
  },
  KEY_NOT_FOUND: {
    cause: 'The workspace has no API key of this id, or it is revoked or has expired.',
    remedy: 'Look with `perdure keys ls`.',
  },
  SECRET_NOT_FOUND: {
    cause: 'The vault of the workspace has no secret of this name.',
    remedy: 'Add it with `perdure vault set NAME`.',
  },
  WEBHOOK_NOT_FOUND: {
    cause: 'The workspace has no webhook, or no delivery, of this id.',
    remedy: 'Look with `perdure webhooks ls`. Deliveries are kept for seven days.',
  },
  VAULT_LOCKED: {
    cause:
      'There is no master key here, others may read its file, it is malformed, it is another one than the secrets were sealed with, or what was sealed is damaged.',
    remedy:
      'Make one with `perdure vault init`, or set `PERDURE_MASTER_KEY` or `PERDURE_MASTER_KEY_FILE` to the one that belongs to the store.',
  },
  KEY_IN_USE: {
    cause:
      'What came with this idempotency key is still being done, or was broken off so that nobody knows how it ended.',
    remedy:
      'Look whether it was done; repeat it with the same key after a while, or with a new one if it was not done.',
  },
  ROUTE_NOT_FOUND: {
    cause: 'The server has nothing at this path.',
    remedy: 'Check the path against `/v1/openapi.json`.',
  },
  METHOD_NOT_ALLOWED: {
    cause: 'The path is there, but not for this method.',
    remedy: 'Use one of those in the header `allow`.',
  },
  SERVER_UNAVAILABLE: {
    cause:
      'The client got no answer, or one that is not of a Perdure server: it is down, cannot be reached, leads elsewhere, or another program listens there.',
    remedy: 'Check the address in `--server` or `PERDURE_SERVER` and that the server runs.',
  },
  SERVER_FAILED: {
    cause: 'The server met a defect of its own, or tells a code that this client does not know.',
    remedy:
      'Look into the log of the server for this request, and report it; upgrade the client if the server is newer.',
    details: '`request` is its id there.',
  },
  DEFECT: {
    cause: 'Something happened that Perdure did not foresee. It is not kept as an answer to anything.',
    remedy:
      'Report it with its id. `PERDURE_DEBUG=1` shows where it happened; on a server its log does, by the id of the request.',
  },
};
