/** Of what stands in bench/peers/node_modules, which nothing but this bench installs: so its types are told here, as far as they are used. */
export const importPackage = async <Exports>(name: string): Promise<Exports> => (await import(name)) as Exports;
