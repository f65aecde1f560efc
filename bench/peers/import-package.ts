/** Imports from bench/peers/node_modules, which only this bench installs. So callers declare the types they use. */
export const importPackage = async <Exports>(name: string): Promise<Exports> => (await import(name)) as Exports;
