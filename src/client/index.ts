export { isPerdureError, PerdureError } from '../schema/error.ts';
export type { AgentRef } from './agent-ref.ts';
export { type Client, connect } from './connect.ts';
export type { ClientSession } from './session.ts';
export type { ClientSessions } from './sessions.ts';
export type { ConnectOptions } from './transport.ts';
