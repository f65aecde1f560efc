import { describeRunFiles } from '../describe-run-files.ts';
import { storeKinds } from '../stores.ts';

for (const kind of storeKinds) describeRunFiles(kind);
