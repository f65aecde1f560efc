import type { ErrorCode } from './error.ts';

/** Explains an error code to a person. At run time only the CLI's help and the documentation import it. */
export interface ErrorEntry {
  /** What happened. */
  readonly cause: string;
  /** What to do now. */
  readonly remedy: string;
  /** The content of the error's field `details`, for programs. */
  readonly details?: string;
}

/** The cause and remedy of every error code. HTTP and the CLI report an error without a code as `DEFECT`. */
export const errorCatalog: Readonly<Record<ErrorCode | 'DEFECT', ErrorEntry>> = {
  INVALID_INPUT: {
    cause:
      'Something in the call is malformed: an unknown field or option, a wrong type, an id of another kind, text with U+0000 or a lone surrogate, a path that leads out of the worktree. Nothing was read or written.',
    remedy: 'Fix the call: the message names the field and what it takes.',
  },
  PAYLOAD_TOO_LARGE: {
    cause:
      'Something is too large to take in one piece: an event over 16 MiB, a file, the body of a request, a listing or a comparison of files.',
    remedy:
      'Keep large content in a file and name it in the message; send less at once, or ask for one folder instead of everything.',
    details: '`maxBytes` is the limit, if there is one.',
  },
  SESSION_NOT_FOUND: {
    cause: 'The workspace has no session with this id. It may be in another workspace or another store.',
    remedy: 'Look with `perdure ls`, and check `--store`, `--server` and `--workspace`.',
  },
  SESSION_EXISTS: {
    cause: 'The id for a new session is already taken.',
    remedy: 'Open it without an id of your own, or choose another one.',
  },
  POINT_NOT_FOUND: {
    cause:
      'The session does not have the place that was named: a seq beyond its head, a turn that has not happened or was rewound, an event that is not a commit, a path of the state with nothing at it.',
    remedy: 'See which events, turns and commits there are with `perdure log SESSION`.',
  },
  BLOB_NOT_FOUND: {
    cause: 'The store has no content for a hash that the log or the caller names.',
    remedy:
      'Run `perdure verify SESSION` to see what is missing; restore the store from a backup, or import the session again from a bundle.',
  },
  FILE_NOT_FOUND: {
    cause:
      'At the point that was asked for, the session has no file at this path, or a folder or a link instead, or no artifact of this name; or there is no such file or folder on this machine.',
    remedy: 'List what there is with `perdure files ls SESSION` or `perdure artifacts SESSION`.',
    details: '`nearby` has similar paths.',
  },
  ILLEGAL_TRANSITION: {
    cause:
      'The status of the session does not allow this, or not while the session has a run that is working, waiting or paused.',
    remedy:
      'Resume a paused session, reopen a closed one, unarchive an archived one; if a run is in the way, cancel it.',
    details: '`allowed` lists what is allowed now, by the names in the library.',
  },
  STATE_INVALID: {
    cause:
      "The commit would leave a state that the ledger's or the agent's schema refuses, or would pin a fact that does not exist. Nothing was committed.",
    remedy: 'Fix the value at the paths that the message names, and commit again.',
  },
  REVERT_CONFLICT: {
    cause: 'Later commits changed again what this one changed.',
    remedy: 'Revert the later ones first, or commit the value you want. For files, restore or write the ones you want.',
    details: '`later` lists the events of those commits.',
  },
  ADOPT_CONFLICT: {
    cause: 'Both branches changed the same thing, or the two sessions do not belong to one tree.',
    remedy: 'Choose `ours` or `theirs`; adopt only a fork of this session or of its parent.',
    details: '`conflicts` and `files` list what both changed.',
  },
  EFFECTS_HAPPENED: {
    cause: 'The turn to retry made calls that took effect, or may have. A retry may make them a second time.',
    remedy:
      'Look at the calls, then retry with `again: true` (`--again`). A `once` call that repeats one is still held back.',
    details: '`calls` lists them, newest last.',
  },
  CALL_REPEATED: {
    cause:
      'A tracked `once` call has the tool and input of an earlier call outside the live history of the session, which took effect or may have.',
    remedy: "Ask a person whether it may run a second time. If so, declare `repeat: 'allow'` for the tool.",
    details:
      '`earlier` names the call: session, event, time and outcome. It has the outcome alone if you do not see that session.',
  },
  CALL_TAINTED: {
    cause:
      'A tracked `once` call would begin while the session holds data from outside, which may have made the model ask for it.',
    remedy:
      'Ask a person. An approver clears the taint with `perdure taint clear`. If the tool is safe in any context, declare `safeWhenTainted: true`.',
    details: '`taintedBy` names what brought the data: the first result of each tool.',
  },
  AGENT_INVALID: {
    cause:
      'The definition of an agent cannot be used, the configuration has no agent of this name, or the session has no agent to answer.',
    remedy:
      'Fix the definition as the message says; `perdure agents` lists the agents. To drive a session without an agent, append to it from a loop of your own.',
  },
  AGENT_CHANGED: {
    cause:
      'A warning: the definition of an agent changed, but not its version, since a session was bound to it. The session goes on with the new definition.',
    remedy:
      'Raise the version of the agent, and keep the earlier one in `openRuntime({ agents })` for the sessions that are bound to it.',
    details: '`changed` lists the parts that differ.',
  },
  AGENT_VERSION_UNAVAILABLE: {
    cause:
      'The session is bound to a version of an agent, or to a state schema, that this process does not have. Its runs wait.',
    remedy:
      'Pass that version to `openRuntime({ agents })` or name its file with `--config`, or bind the session to a newer version that has `migrate`.',
  },
  HOSTED_MODEL_UNAVAILABLE: {
    cause: "The model's name is not understood, its script is missing, or its provider has no key or address here.",
    remedy: 'Set what the message names, such as `ANTHROPIC_API_KEY`, or name another model as `provider/model`.',
  },
  RUN_NOT_FOUND: {
    cause: 'The session has no run with this id, or the run has ended and this needs one that is queued or under way.',
    remedy: 'See which runs there are with `perdure log SESSION`.',
  },
  SESSION_BUSY: {
    cause:
      'An input with the policy `reject` came during a run, or the session already has as many waiting inputs as it takes.',
    remedy:
      'Wait for the run, or send with the policy `queue`, `steer` or `interrupt`; send more once some are answered.',
  },
  VERIFICATION_NOT_FOUND: {
    cause:
      'This server process has no verification of the session with this id: the process was restarted, another process answered, or the verification ended over an hour ago.',
    remedy: 'Start another with `POST /v1/sessions/{session}/verifications`, or run `perdure verify SESSION` again.',
  },
  APPROVAL_NOT_FOUND: {
    cause:
      'No approval or question with this id is waiting in the session: it was answered, it expired, or its call is over.',
    remedy: 'See what is waiting with `perdure approvals`.',
  },
  APPROVAL_SETTLED: {
    cause: 'The approval already has a different answer. It can only be answered once.',
    remedy: 'The first answer stands. To change what the run does next, send another input.',
  },
  APPROVAL_FORBIDDEN: {
    cause:
      'The approval says who may answer, by role or as somebody other than the one who asked for the run, and you may not.',
    remedy: 'Ask somebody who may: the message says who.',
  },
  SESSION_HELD: {
    cause:
      'The session was handed to a member or a role, and you are neither: only the holder or an admin may append, answer questions, change state or files, rewind, close, or hand it back.',
    remedy:
      'Ask the holder or an admin: the message and `perdure show SESSION` name the holder. You may still read, send inputs, fork, pause and cancel.',
    details: '`holder` is who holds it, such as `member:ann` or `role:approver`.',
  },
  TOOL_INVALID: {
    cause: 'The definition of a tool or of an MCP server cannot be used, or a package that it needs is not installed.',
    remedy: 'Fix the definition or install the package, as the message says.',
  },
  CONFLICT: {
    cause:
      'Somebody else kept changing the same thing until the retries ran out; or what was to be made or written already exists, or is not what was expected.',
    remedy: 'Look at it again, then retry: later, under another name, or with what is there now.',
  },
  FENCED: {
    cause:
      'The session was claimed, cancelled, handed over or rewound after this writer took it on: its epoch is over, and nothing of this write was stored.',
    remedy: 'Stop this loop. To go on, track or claim the session again and read what has happened.',
  },
  WRITER_FORBIDDEN: {
    cause:
      'Somebody outside a run tried to write what only runs may write (`run.*`, `tool.*`, `model.*`), or the result of a call of a run that is under way.',
    remedy:
      'Hand the session over first (`perdure handoff`), or record the calls of your own loop with `session.track`.',
  },
  KEY_REUSED: {
    cause: 'The idempotency key was used before, for another body or by another member.',
    remedy: 'Use a new key for a new request; repeat exactly the same request to get its first answer.',
  },
  EVENT_DAMAGED: {
    cause: 'An event is missing, or its bytes have changed since it was written.',
    remedy:
      'Run `perdure verify SESSION`, which names it. `perdure repair SESSION` continues from the last good event as a fork, and says what is lost; a backup of the store may still have the rest.',
  },
  SESSION_DAMAGED: {
    cause:
      'The session is quarantined, because one of its events is damaged. It can be read up to there, rewound, closed and archived, but it accepts no more work.',
    remedy: 'Run `perdure repair SESSION`, which continues it from the last good event as a fork, and continue there.',
  },
  EVENT_UNSUPPORTED: {
    cause: 'A newer release wrote an event of a type or version that this one does not know.',
    remedy: 'Upgrade perdure.',
  },
  BUNDLE_INVALID: {
    cause: 'The file is not a bundle, is incomplete, or its hashes do not match. Nothing was imported.',
    remedy: 'Export it again at its source, and import the new file.',
  },
  BUNDLE_CONFLICT: {
    cause: 'A session of the bundle is already in this store, and the two logs differ.',
    remedy: 'Import the bundle into another workspace or another store.',
  },
  STORE_BUSY: {
    cause:
      'The store did not answer in time: another writer holds it, or all connections to PostgreSQL are in use; or the server is importing another bundle into the workspace, or has no room for another large body. Nothing was written.',
    remedy: 'Try again; on PostgreSQL, raise `poolSize` if it happens often.',
  },
  STORE_FULL: {
    cause: 'The disk of the store, of a worktree or of temporary files is full.',
    remedy:
      'Make room: `perdure gc` removes file content that nothing refers to any more. Then repeat what failed; nothing acknowledged was lost.',
  },
  STORE_CORRUPT: {
    cause: 'The database, or a blob in it, is damaged, disagrees with the logs, or belongs to another application.',
    remedy:
      'Run `perdure verify --all`, which names what is wrong; `perdure repair --projections` rebuilds what the logs can tell; restore the rest from a backup of the store or a bundle.',
  },
  STORE_UNAVAILABLE: {
    cause:
      'The store cannot be opened or reached: there is no file, no database or no server, the role was refused, or a setting could make it lose what it acknowledges.',
    remedy: 'Check `--store` or `PERDURE_STORE`, and that the store they name exists and lets this user in.',
    details: 'If `outcome` is `unknown`, it may have been done: repeat it with the same idempotency key.',
  },
  STORE_NEWER: {
    cause: 'A newer release has changed the database so that this one must not read it.',
    remedy: 'Upgrade perdure.',
    details: '`needs` is the oldest release that can read it.',
  },
  STORE_WENT_BACK: {
    cause:
      'A warning: the store lost events that this process had seen, as after a restore in place or an asynchronous failover. Nothing fails with it; the runtime continues with the log that exists.',
    remedy:
      'Check which calls with effects ran and are no longer in the log. Use synchronous replication if a call must not run twice.',
    details: '`seen` is the event that was there, and `found` the head that the session has now.',
  },
  RUNTIME_CLOSED: {
    cause: 'The runtime, the worker or the wait ended during this. Runs go on with the next worker.',
    remedy: 'Open the runtime again, and retry.',
  },
  FILE_UNAVAILABLE: {
    cause:
      "A file or folder on this machine cannot be used: its folder is missing, it is in the way, it is not permitted, it is a link, or git could not clone it. This is not about the session's own files.",
    remedy: 'Name another one, or fix what the message says is wrong with it.',
  },
  FORBIDDEN: {
    cause:
      'The role of the member, or the areas of the key, do not allow this verb; or the server does not answer to this host name or to pages from this origin.',
    remedy:
      'Ask somebody whose role allows it, or ask for a key with that area; if the server should answer, start it with `--allow-host` or `--allow-origin`.',
    details: '`needs` is the lowest role that may.',
  },
  UNAUTHENTICATED: {
    cause: 'The request has no key, or one that is unknown, expired, rotated or revoked.',
    remedy:
      'On the store itself, without `--server`, see which keys are valid with `perdure keys ls`, or make one with `perdure keys create`; send it as `authorization: Bearer pdk_…`, or set `PERDURE_KEY`.',
  },
  RATE_LIMITED: {
    cause:
      'This key, or the keys of its workspace together, sent more than the server accepts: requests, open streams and waits, or bytes of bodies. This one was not started.',
    remedy:
      'Wait a little, as the client does automatically, or end what is open; a program that runs the server can set another `rate`, `workspaceRate`, `streamsPerKey`, `streams` or `bodies`.',
    details: '`retryAfterSeconds` is how long to wait.',
  },
  QUOTA_EXCEEDED: {
    cause:
      'A quota of the workspace, or of the member, leaves no room: sessions, bytes, streams, runs at once, or tokens or USD per day or month. Nothing was written.',
    remedy:
      'Wait until the period begins anew, archive sessions, or end runs or streams. The operator of the store can raise the quota of a workspace, and an admin that of a member, with `perdure quotas set`.',
    details:
      '`quota` names the field, `member` whose it is (absent for the workspace), `used`, `asked` and `limit` are amounts, `resetsAt` is when the period ends, and `changedBy` is `operator` or `admin`.',
  },
  QUOTA_EXCLUDED: {
    cause:
      'The quota of the workspace, or of the member, does not include this agent or this model, or limits USD while the price of the model is not known.',
    remedy:
      'Use an agent or a model that the message lists, or configure the price. The operator of the store can change the quota of a workspace, and an admin that of a member, with `perdure quotas set`.',
    details: '`quota` names the field, `name` what was asked for, `allowed` what it includes.',
  },
  PRECONDITION_FAILED: {
    cause:
      'The state changed after it was read, and the change over HTTP named the state it was made for (`If-Match`).',
    remedy: 'Read the state again, make the change on it, and send it with the new tag.',
  },
  WORKSPACE_NOT_FOUND: {
    cause: 'The store has no workspace with this name.',
    remedy: 'Add it with `perdure workspaces add NAME`.',
  },
  MEMBER_NOT_FOUND: {
    cause: 'The workspace has no member with this name.',
    remedy: 'List members with `perdure members ls`, or add one with `perdure members add`.',
  },
  LAST_ADMIN: {
    cause: 'This would remove the only admin of a workspace, or lower their role.',
    remedy: 'Make another member an admin first.',
  },
  KEY_NOT_FOUND: {
    cause: 'The workspace has no API key with this id, or the key is revoked or expired.',
    remedy: 'List keys with `perdure keys ls`.',
  },
  SECRET_NOT_FOUND: {
    cause: 'The vault of the workspace has no secret with this name.',
    remedy: 'Add it with `perdure vault set NAME`.',
  },
  WEBHOOK_NOT_FOUND: {
    cause: 'The workspace has no webhook, or no delivery, with this id.',
    remedy: 'List webhooks with `perdure webhooks ls`. Deliveries are kept for seven days.',
  },
  VAULT_LOCKED: {
    cause:
      'There is no master key here, other users can read its file, it is malformed, it is not the one that sealed the secrets, or the sealed secrets are damaged.',
    remedy:
      'Make one with `perdure vault init`, or set `PERDURE_MASTER_KEY` or `PERDURE_MASTER_KEY_FILE` to the one that belongs to the store.',
  },
  ROOT_REFUSED: {
    cause:
      "A shell tool has `sandbox: 'off'`, and the worker's user is root. A command could change everything on the host.",
    remedy: 'Run the worker as another user, or use the sandbox. `PERDURE_ALLOW_ROOT=1` allows it all the same.',
  },
  KEY_IN_USE: {
    cause:
      'The request with this idempotency key is still in progress, or was interrupted and nobody knows how it ended.',
    remedy: 'Check whether it was done; repeat it with the same key after a while, or with a new key if it was not.',
  },
  ROUTE_NOT_FOUND: {
    cause: 'The server has nothing at this path.',
    remedy: 'Check the path against `/v1/openapi.json`.',
  },
  METHOD_NOT_ALLOWED: {
    cause: 'The path exists, but not for this method.',
    remedy: 'Use one of the methods in the header `allow`.',
  },
  SERVER_UNAVAILABLE: {
    cause:
      'The client got no answer, or not one from a Perdure server: the server is down, cannot be reached or redirects elsewhere, or another program listens there.',
    remedy: 'Check the address in `--server` or `PERDURE_SERVER`, and that the server is running.',
  },
  SERVER_FAILED: {
    cause: 'The server has a defect, or sent a code that this client does not know.',
    remedy: 'Look for this request in the log of the server, and report it; upgrade the client if the server is newer.',
    details: '`request` is its id in that log.',
  },
  DEFECT: {
    cause: 'Something happened that Perdure did not expect. It is not stored as the answer to anything.',
    remedy:
      'Report it with its id. `PERDURE_DEBUG=1` shows where it happened; on a server, look in its log for the id of the request.',
  },
};
