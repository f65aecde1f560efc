import type { Json } from '../../../schema/json.ts';
import { pointerOf } from '../../../schema/pointer.ts';
import { isRecord, isSameJson } from '../state/patch-between.ts';
import type { Side, SideCommit, SideModel } from './side.ts';
import type { SideUsage } from './side-usage.ts';

/** What both sides used, and what the second used more than the first. */
export interface UsageDifference {
  readonly before: SideUsage;
  readonly after: SideUsage;
  readonly difference: SideUsage;
}

const round = (number: number): number => Number(number.toFixed(9));

export const usageBetween = ({ usage: before }: Side, { usage: after }: Side): UsageDifference => {
  const names = Object.keys(before) as (keyof SideUsage)[];
  const difference = Object.fromEntries(names.map((name) => [name, round(after[name] - before[name])]));
  return { before, after, difference: difference as unknown as SideUsage };
};

/** A setting of the models that differs between both sides. */
export interface SettingChange {
  readonly name: string;
  readonly before?: Json | undefined;
  readonly after?: Json | undefined;
}

/** The models that both sides asked, and how the last ones differ. */
export interface ModelDifference {
  readonly before: readonly SideModel[];
  readonly after: readonly SideModel[];
  /** Settings that differ between the last model of each side. */
  readonly settings: readonly SettingChange[];
}

const settingsOf = (models: readonly SideModel[]): Readonly<Record<string, Json>> | undefined => {
  const settings = models.at(-1)?.settings;
  return isRecord(settings) ? (settings as Record<string, Json>) : undefined;
};

export const modelsBetween = ({ models: before }: Side, { models: after }: Side): ModelDifference => {
  const [were, are] = [settingsOf(before), settingsOf(after)];
  if (!were || !are) return { before, after, settings: [] };
  const names = [...new Set([...Object.keys(were), ...Object.keys(are)])].sort();
  const changed = names.filter((name) => !isSameJson(were[name], are[name]));
  return { before, after, settings: changed.map((name) => ({ name, before: were[name], after: are[name] })) };
};

/** Whether both sides asked other models, or with other settings. */
export const isSameModels = ({ before, after }: ModelDifference): boolean => {
  const about = (models: readonly SideModel[]) => models.map(({ model, settings }) => ({ model, settings }));
  return isSameJson(about(before), about(after));
};

/** The newest commit of a side that changed a file, or that changed so many files that it names only their folder. */
export const commitOfFile = ({ commits }: Side): ((path: string) => SideCommit | undefined) => {
  const byEntry = new Map<string, SideCommit>();
  for (const { item } of commits) for (const entry of item.entries) byEntry.set(entry, item);
  return (path) => {
    const folders = path.split('/').map((_, place, names) => `${names.slice(0, place).join('/')}/`);
    const names = [path, ...folders.slice(1).reverse(), '/'];
    return names.map((name) => byEntry.get(pointerOf('filesModified', name))).find((found) => found !== undefined);
  };
};
