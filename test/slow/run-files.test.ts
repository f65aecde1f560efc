import { describeRunFiles } from '../describe-run-files.ts';

describeRunFiles('postgres');
