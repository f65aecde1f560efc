import { z } from 'zod';
import type { AgentInfo } from '../../../core/runtime/agents.ts';
import type { ModelInfo } from '../../../core/session/model-infos.ts';
import type { Agent } from '../../config/config.ts';
import { configuredModels } from '../../config/configured-models.ts';
import { scriptNote } from '../../config/script-note.ts';
import { type Context, defineCommand } from '../../parse/command.ts';
import { modelProblems, modelsText } from '../../render/model-text.ts';
import { type Column, highest, layOutTable } from '../../render/table.ts';
import { displayWidth } from '../../terminal/display-width.ts';
import { printableLine } from '../../terminal/printable.ts';

const columns: readonly Column[] = [
  { title: 'AGENT' },
  { title: 'VERSION', align: 'right' },
  { title: 'MODEL' },
  { title: 'TOOLS', flexible: true, leaves: 1 },
];

/** For models that leave no width to any other column: their names move below the line. */
const narrowColumns: readonly Column[] = [
  { title: 'AGENT' },
  { title: 'VERSION', align: 'right' },
  { title: 'MODEL', flexible: true, whole: true },
  { title: 'TOOLS', leaves: 1 },
];

const columnsFor = (rows: readonly (readonly string[])[], width: number): readonly Column[] => {
  const widest = (index: number) => highest(rows.map((row) => displayWidth(row[index]!)));
  return widest(0) + 'VERSION'.length + widest(2) + 4 > width ? narrowColumns : columns;
};

const cautionsOf = ({ tools, prepare }: Agent): readonly string[] => {
  const all = new Set([...tools.values(), ...(prepare ? [prepare.shell] : [])]);
  return [...all].flatMap(({ name, caution }) => (caution ? [`${name}: ${caution}`] : []));
};

const AgentAbout = z.strictObject({
  name: z.string(),
  version: z.int(),
  model: z.string(),
  models: z.array(z.strictObject({ name: z.string(), problem: z.string().optional() })),
  tools: z.array(z.string()),
  cautions: z.array(z.string()),
});

const aboutInfo = ({ name, version, model = '', models, tools }: AgentInfo) => ({
  name,
  version,
  model,
  models: [...models],
  tools: tools.map((tool) => tool.name),
  cautions: [],
});

const about = (agent: Agent, models: readonly ModelInfo[]) => ({
  name: agent.name,
  version: agent.version,
  model: agent.modelNames[0] ?? '',
  models: [...models],
  tools: [...agent.tools.keys()],
  cautions: cautionsOf(agent),
});

const configured = async (context: Context) => {
  const models = await configuredModels(await context.config());
  return [...models].map(([agent, infos]) => about(agent, infos));
};

export const agents = defineCommand({
  name: 'agents',
  summary: 'list the agents of the configuration, or of the server',
  args: [],
  options: {},
  notes: [
    'They come from perdure.config.ts (.mjs, .js) in this folder, or from the file that --config names: a program whose default export is { agents, models, store, data }. The program is run.',
  ],
  examples: ['perdure agents', 'perdure agents --config team.config.ts'],
  backingOptions: ['server', 'key-file', 'config'],
  json: z.strictObject({ agents: z.array(AgentAbout) }),
  run: async (context) => {
    const isServer = context.server !== undefined;
    const all = isServer ? (await (await context.runtime()).agents.list()).map(aboutInfo) : await configured(context);
    const rows = all.map(({ name, version, models, tools }) => [
      printableLine(name),
      String(version),
      modelsText(models),
      printableLine(tools.join(' ')),
    ]);
    const { out } = context;
    await context.answer({ agents: all }, () =>
      layOutTable(columnsFor(rows, out.columns), rows, out.columns, (cell, _, row) =>
        row < 0 ? out.style('dim', cell) : cell,
      ),
    );
    for (const caution of new Set(all.flatMap(({ cautions }) => cautions))) await context.note(printableLine(caution));
    for (const problem of modelProblems(all)) await context.note(problem);
    const note = isServer ? undefined : scriptNote(await context.config());
    if (note) await context.note(note);
  },
});
