/**
 * Imports from bench/peers/node_modules, which only this bench installs. Callers therefore declare the types that
 * they use.
 */
export const importPackage = async <Exports>(name: string): Promise<Exports> => (await import(name)) as Exports;
