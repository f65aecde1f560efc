/** The configuration of the workers, which tell what they were told to have written. */
import { openStoreAt } from '../../support/stores/open-store.ts';
import config from './cluster.config.ts';
import { tellingStore } from './telling-store.ts';

export default { ...config, store: tellingStore(await openStoreAt(process.env.CLUSTER_STORE!), process.cwd()) };
