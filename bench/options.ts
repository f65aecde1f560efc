import { parseArgs } from 'node:util';
import { type CaseName, caseNames } from './cases/index.ts';
import { type EngineName, engineNames } from './engines/engine.ts';

export interface BenchOptions {
  readonly quick: boolean;
  readonly json: boolean;
  readonly cases: readonly CaseName[];
  readonly engines: readonly EngineName[];
}

export const pick = <Name extends string>(
  what: string,
  text: string | undefined,
  known: readonly Name[],
): readonly Name[] => {
  if (text === undefined) return known;
  const asked = text.split(',').map((each) => each.trim());
  const unknown = asked.find((each) => !known.includes(each as Name));
  if (unknown !== undefined) throw new Error(`"${unknown}" is not a ${what}; there are: ${known.join(', ')}`);
  return known.filter((name) => asked.includes(name));
};

export const parseOptions = (args: readonly string[]): BenchOptions => {
  const { values } = parseArgs({
    args: [...args],
    options: {
      quick: { type: 'boolean', default: false },
      json: { type: 'boolean', default: false },
      only: { type: 'string' },
      engine: { type: 'string' },
    },
  });
  return {
    quick: values.quick,
    json: values.json,
    cases: pick('case', values.only, caseNames),
    engines: pick('engine', values.engine, engineNames),
  };
};
