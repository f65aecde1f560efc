export { describeStoreContract } from './describe-store-contract.ts';
export { type MemoryDatabase, newMemoryDatabase } from './memory-database.ts';
export { openMemoryStore } from './memory-store.ts';
export type { StoreHarness, StoreTamper } from './store-harness.ts';
