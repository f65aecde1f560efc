import { createDatabase } from '../../../test/postgres.ts';
import { postgresHarness } from '../../../test/postgres-harness.ts';
import { describeStoreContract } from '../../testing/describe-store-contract.ts';
import { openPostgresStore } from './index.ts';

const database = await createDatabase();

describeStoreContract(
  'PostgreSQL',
  postgresHarness(database, () => openPostgresStore({ url: database.url })),
);
