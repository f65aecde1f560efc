/** The configuration of the workers, which tell what they were told to have written. */
import { openStoreAt } from '../../open-store.ts';
import config from './cluster.config.ts';
import { tellingStore } from './telling-store.ts';

export default { ...config, store: tellingStore(await openStoreAt(process.env.CLUSTER_STORE!), process.cwd()) };
