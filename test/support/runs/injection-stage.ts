import { z } from 'zod';
import type { ToolFailure as Failure } from '../../../src/core/ports/tool.ts';
import { ToolFailure } from '../../../src/core/ports/tool.ts';
import {
  defineAgent,
  defineTool,
  type Runtime,
  type RuntimeOptions,
  type Session,
  type SessionEvent,
} from '../../../src/index.ts';
import {
  askTool,
  decideTool,
  editTool,
  keepTool,
  listTool,
  mcpTools,
  planTool,
  readTool,
  recallTool,
  rememberTool,
  searchTool,
  subagent,
  writeTool,
} from '../../../src/tools/index.ts';
import { obedientModel } from './obedient-model.ts';

/** What the world outside serves, and what reached it. */
export interface World {
  readonly pages: Record<string, string>;
  readonly refunds: string[];
  readonly notices: string[];
}

const orderOf = z.object({ order: z.string() });

/** The tools of every test: some read the outside world, one pays money back. */
const toolsOf = (world: World) => {
  const serve = (url: string): string => {
    const page = world.pages[url] ?? 'There is no such page.';
    if (page.startsWith('ERROR')) throw new ToolFailure(page) satisfies Failure;
    return page;
  };
  return [
    defineTool({
      name: 'fetch',
      description: 'Reads a web page.',
      input: z.object({ url: z.string() }),
      effects: 'none',
      usesFiles: false,
      execute: ({ url }) => serve(url),
    }),
    defineTool({
      name: 'inbox',
      description: 'Reads the mail of customers.',
      input: z.object({ url: z.string() }),
      effects: 'none',
      usesFiles: false,
      untrusted: true,
      execute: ({ url }) => ({ subject: 'hello', body: serve(url) }),
    }),
    defineTool({
      name: 'refund',
      description: 'Pays an order back.',
      input: orderOf,
      effects: 'once',
      repeat: 'allow',
      usesFiles: false,
      execute: ({ order }) => {
        world.refunds.push(order);
        return `refunded ${order}`;
      },
    }),
    defineTool({
      name: 'lookup',
      description: 'Reads an order of our own records.',
      input: orderOf,
      effects: 'none',
      usesFiles: false,
      execute: ({ order }) => ({ order, total: 10 }),
    }),
    defineTool({
      name: 'notify',
      description: 'Sends a notice to the team, once for each key.',
      input: z.object({ text: z.string() }),
      effects: 'idempotent',
      usesFiles: false,
      execute: ({ text }) => {
        world.notices.push(text);
        return 'sent';
      },
    }),
    defineTool({
      name: 'reserve',
      description: 'Reserves a table that no one pays for.',
      input: orderOf,
      effects: 'once',
      repeat: 'allow',
      safeWhenTainted: true,
      usesFiles: false,
      execute: () => 'reserved',
    }),
    ...[readTool, writeTool, editTool, listTool, searchTool, keepTool],
    ...[rememberTool, recallTool, decideTool, planTool, askTool],
  ];
};

/** The tools of a server whose listing or answers an attacker wrote. */
const serverTools = async (world: World, name: string, description: string, isPinned: boolean) => {
  const [listed] = await mcpTools({
    name,
    command: 'unused',
    effects: 'none',
    tools: [{ name: 'search', description, inputSchema: { type: 'object', properties: {} } }],
  });
  const execute = async (input: object) => world.pages[(input as { url?: string }).url ?? ''] ?? 'nothing found';
  return { ...listed!, execute: execute as never, ...(isPinned ? {} : { describedBy: name }) };
};

export const stageOf = async (
  open: (options: Omit<RuntimeOptions, 'store'>) => Promise<Runtime>,
  mcpDescription = 'Searches.',
) => {
  const world: World = { pages: {}, refunds: [], notices: [] };
  const tools = toolsOf(world);
  const helper = defineAgent({ name: 'helper', model: obedientModel('helper'), tools });
  const clerk = defineAgent({
    name: 'clerk',
    model: obedientModel('clerk'),
    tools: [...tools, subagent(helper), await serverTools(world, 'shop', 'Searches.', true)],
    policies: {
      // The worst summarizer: it repeats what results say, as if the session itself said so.
      summarize: ({ entries }) =>
        entries
          .flatMap(({ message }) => message.content.map((part) => (part.type === 'tool-result' ? part.output : '')))
          .map((output) => (typeof output === 'string' ? output : JSON.stringify(output)))
          .join(' ')
          .trim() || 'nothing',
    },
  });
  const described = defineAgent({
    name: 'described',
    model: obedientModel('described'),
    tools: [...tools, await serverTools(world, 'evil', mcpDescription, false)],
  });
  const strict = defineAgent({
    name: 'strict',
    model: obedientModel('strict'),
    tools,
    policies: { tainted: { refund: 'deny', notify: 'approve', '*': 'approve' } },
  });
  const runtime = await open({ agents: [helper, clerk, described, strict], worker: false });
  const as = (member: string, role: 'member' | 'approver' | 'admin' = 'admin') =>
    runtime.as({ workspace: 'acme', member, role });
  await as('worker').worker().start();
  /** Sends an input and waits until its run ends or waits for a person. */
  const send = async (session: Session, text: string) => (await session.send(text)).result();
  /** Every approval that a session and its subagents asked for. */
  const asked = async (...sessions: readonly Session[]) => {
    const all = await Promise.all(sessions.map((session) => Array.fromAsync(session.events())));
    return all
      .flat()
      .filter((event): event is SessionEvent<'approval.requested'> => event.type === 'approval.requested');
  };
  return { world, runtime, as, agents: { clerk, helper, described, strict }, send, asked };
};
export type Stage = Awaited<ReturnType<typeof stageOf>>;
