import type { ZodType } from 'zod';
import { pointerOf, segmentsOfPointer } from '../../../schema/pointer.ts';
import {
  type Collection,
  collections,
  ledgerEntries,
  type State,
  type StoredOperation,
} from '../../../schema/state.ts';
import { isRecord } from '../state/patch-between.ts';
import { type StateProblem, waitingIsView } from '../state/state-change.ts';

const isCollection = (name: string): name is Collection => Object.hasOwn(ledgerEntries, name);

const entryProblems = (collection: Collection, id: string, entry: unknown): readonly StateProblem[] => {
  const parsed = (ledgerEntries[collection] as ZodType).safeParse(entry);
  if (parsed.success) return [];
  return parsed.error.issues.map(({ path, message }) => ({
    path: pointerOf(collection, id, ...path.map(String)),
    message,
  }));
};

const danglingPin = ({ facts, pins }: State, id: string): readonly StateProblem[] => {
  if (!isRecord(facts) || !isRecord(pins)) return [];
  if (!Object.hasOwn(pins, id) || Object.hasOwn(facts, id)) return [];
  return [{ path: pointerOf('pins', id), message: `there is no fact ${id}: remove the pin together with its fact` }];
};

/** Validates the ledger after a change. Checks only the entries that the delta touched. */
export const ledgerProblems = (state: State, delta: readonly StoredOperation[]): readonly StateProblem[] => {
  const problems = delta.flatMap(({ path }): readonly StateProblem[] => {
    const [name = '', id] = segmentsOfPointer(path);
    if (name === 'waiting') return [{ path, message: waitingIsView }];
    if (name !== 'own' && !isCollection(name)) {
      return [{ path, message: `a state has no part ${name}; its parts are ${collections.join(', ')}, own` }];
    }
    if (!isRecord(state[name])) return [{ path: pointerOf(name), message: 'expected a record by id' }];
    if (name === 'own' || id === undefined) return [];
    const entry = Object.hasOwn(state[name], id) ? entryProblems(name, id, state[name][id]) : [];
    return name === 'facts' || name === 'pins' ? [...entry, ...danglingPin(state, id)] : entry;
  });
  return [...new Map(problems.map((problem) => [`${problem.path} ${problem.message}`, problem])).values()];
};
