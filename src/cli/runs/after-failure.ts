import { errorCatalog } from '../../schema/error-catalog.ts';
import { runFailureCatalog } from '../../schema/run-failure-catalog.ts';
import { endsWithWhatToDo } from '../parse/says-what-to-do.ts';

const remedies = new Map(
  Object.entries({ ...errorCatalog, ...runFailureCatalog }).map(([code, { remedy }]) => [code, remedy]),
);

/** What to do after a run failed, where its message does not say it. Nothing is known of codes of other releases. */
export const stepAfterFailure = ({ code, message }: { code: string; message: string }): string | undefined =>
  endsWithWhatToDo(message) ? undefined : remedies.get(code);
