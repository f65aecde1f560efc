export { describeStoreContract } from './describe-store-contract.ts';
export { openMemoryStore } from './memory-store.ts';
export type { StoreHarness, StoreTamper } from './store-harness.ts';
