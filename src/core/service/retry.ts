import { PerdureError } from '../../schema/error.ts';
import type { SessionEvent } from '../../schema/event.ts';
import { newId } from '../../schema/ids.ts';
import type { SessionKey } from '../ports/store.ts';
import { decodeEvent } from '../session/event-codec.ts';
import { execute } from './execute.ts';
import { resolvePoint } from './points.ts';
import type { Scope } from './scope.ts';

/** Goes back to before a turn and asks the same again, as a new turn that says which one it tries again. */
export const retryTurn = async (
  scope: Scope,
  key: SessionKey,
  { turn }: { readonly turn: number },
): Promise<SessionEvent<'message.appended'>> => {
  const head = await scope.folds.outline(key);
  await resolvePoint(scope.store, key, head, { turn });
  const [start] = await scope.store.turnStarts(key, { from: turn, limit: 1 });
  const [stored] = start ? await scope.store.read(key, { after: start.seq - 1, upTo: start.seq, limit: 1 }) : [];
  const asked = stored && decodeEvent(key.workspace, stored);
  if (!start || asked?.type !== 'message.appended') {
    throw new PerdureError('POINT_NOT_FOUND', `turn ${turn} of ${key.session} has no input to try again`, {
      details: { turn },
    });
  }
  const message = { ...asked.payload.message, id: newId('msg') };
  const target = await scope.folds.at(key, start.seq - 1);
  const events = await execute(scope, key, { type: 'retry', turn, message, target });
  return events.at(-1) as SessionEvent<'message.appended'>;
};
