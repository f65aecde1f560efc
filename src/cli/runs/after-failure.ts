import { errorCatalog } from '../../schema/error-catalog.ts';
import { runFailureCatalog } from '../../schema/run-failure-catalog.ts';
import { endsWithWhatToDo } from '../parse/says-what-to-do.ts';

const remedies = new Map(
  Object.entries({ ...errorCatalog, ...runFailureCatalog }).map(([code, { remedy }]) => [code, remedy]),
);

/** Remedy after a failed run, unless its message already gives advice. Undefined for codes of other releases. */
export const stepAfterFailure = ({ code, message }: { code: string; message: string }): string | undefined =>
  endsWithWhatToDo(message) ? undefined : remedies.get(code);
