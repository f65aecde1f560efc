import { createDatabase } from '../../../test/support/postgres/postgres.ts';
import { postgresHarness } from '../../../test/support/postgres/postgres-harness.ts';
import { describeStoreContract } from '../../testing/describe-store-contract.ts';
import { openPostgresStore } from './index.ts';

const database = await createDatabase();

describeStoreContract(
  'PostgreSQL',
  postgresHarness(database, () => openPostgresStore({ url: database.url })),
);
