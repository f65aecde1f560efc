import type { EngineName } from '../../engines/engine.ts';
import type { System, SystemName } from '../contender.ts';

/** Imports only what the requested system needs. */
export const importSystem: Record<SystemName, (engine: EngineName, libraryUrl: string) => Promise<System>> = {
  bare: async () => (await import('./bare.ts')).bare,
  perdure: async (_, libraryUrl) => (await import('./perdure.ts')).importPerdure(libraryUrl),
  mastra: async (engine) => (await import('./mastra.ts')).importMastra(engine),
  langgraph: async (engine) => (await import('./langgraph.ts')).importLangGraph(engine, 'whole'),
  'langgraph-delta': async (engine) => (await import('./langgraph.ts')).importLangGraph(engine, 'delta'),
};
