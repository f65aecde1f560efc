import type { SessionEvent } from '../../schema/event.ts';
import type { MessageId, RunId } from '../../schema/ids.ts';
import type { Rest } from './runs-view.ts';

/** The run that an input went to, which is another one where it joined that. */
export class RunTarget {
  #run: RunId | undefined;
  #message: MessageId | undefined;

  constructor(run: RunId | undefined) {
    this.#run = run;
  }

  get run(): RunId | undefined {
    return this.#run;
  }

  /** Its end, when the event is that. */
  see(event: SessionEvent): Rest | undefined {
    if (this.#run === undefined) return undefined;
    if (event.type === 'input.admitted' && event.payload.run === this.#run) this.#message = event.payload.message.id;
    const hasJoined = event.type === 'message.appended' && event.payload.message.id === this.#message;
    if (hasJoined) this.#run = event.run ?? this.#run;
    return event.type === 'run.ended' && event.run === this.#run ? { kind: 'ended', end: event.payload } : undefined;
  }
}
