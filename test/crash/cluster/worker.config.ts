/** The configuration of the workers, which record every write that the store acknowledged. */
import { openStoreAt } from '../../support/stores/open-store.ts';
import config from './cluster.config.ts';
import { tellingStore } from './telling-store.ts';

export default { ...config, store: tellingStore(await openStoreAt(process.env.CLUSTER_STORE!), process.cwd()) };
