export { isPerdureError, PerdureError } from '../schema/error.ts';
export type { RunPart } from '../schema/run-part.ts';
export type { AgentRef } from './agent-ref.ts';
export { type Client, connect } from './connect.ts';
export type { ClientSession, ClientSessionOf } from './session.ts';
export type { ClientOpenOptions, ClientSessions } from './sessions.ts';
export type { ConnectOptions } from './transport.ts';
