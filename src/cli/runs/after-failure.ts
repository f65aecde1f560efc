import { errorCatalog } from '../../schema/error-catalog.ts';
import { runFailureCatalog } from '../../schema/run-failure-catalog.ts';

const remedies = new Map(
  Object.entries({ ...errorCatalog, ...runFailureCatalog }).map(([code, { remedy }]) => [code, remedy]),
);

/** As messages of ours end that say what to do. What stands before are often the words of a provider. */
const saysWhatToDo = /: (?:ask|check|raise|send|set)\b[^:]*$/;

/** What to do after a run failed, where its message does not say it. Nothing is known of codes of other releases. */
export const stepAfterFailure = ({ code, message }: { code: string; message: string }): string | undefined =>
  saysWhatToDo.test(message) ? undefined : remedies.get(code);
