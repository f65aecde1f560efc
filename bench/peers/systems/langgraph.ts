import { randomUUID } from 'node:crypto';
import type { EngineName } from '../../engines/engine.ts';
import {
  type Contender,
  fileOf,
  type Mode,
  type Reader,
  type Script,
  type Setting,
  type System,
  scriptOf,
} from '../contender.ts';
import { postgresDurability, sqliteDurability } from '../durability.ts';
import { importPackage } from '../import-package.ts';

interface Message {
  readonly tool_calls?: readonly object[];
}

interface State {
  readonly messages: readonly Message[];
}

interface Config {
  readonly configurable: { readonly thread_id: string };
  readonly durability?: 'exit' | 'sync';
}

interface Graph {
  invoke(input: State, config: Config): Promise<State>;
  getState(config: Config): Promise<{ readonly values: State; readonly config: Config }>;
  updateState(config: Config, values: State, asNode: string): Promise<Config>;
}

interface GraphBuilder {
  addNode(name: string, work: (state: State) => Promise<State>): GraphBuilder;
  addEdge(from: string, to: string): GraphBuilder;
  addConditionalEdges(from: string, choose: (state: State) => string): GraphBuilder;
  compile(options: { checkpointer: unknown }): Graph;
}

interface LangGraph {
  readonly StateGraph: new (state: unknown) => GraphBuilder;
  readonly StateSchema: new (fields: object) => unknown;
  readonly MessagesAnnotation: unknown;
  readonly MessagesDeltaValue: unknown;
  readonly START: string;
  readonly END: string;
}

type NewMessage = new (fields: object) => Message;

interface Messages {
  readonly HumanMessage: NewMessage;
  readonly AIMessage: NewMessage;
  readonly ToolMessage: NewMessage;
}

interface Saver {
  readonly saver: unknown;
  durability(): Promise<string>;
  close(): Promise<void>;
}

interface Pragmas {
  readonly db: { pragma(sql: string, options?: { simple: true }): unknown; close(): void };
}

const sqliteSaver = async () => {
  const { SqliteSaver } = await importPackage<{
    SqliteSaver: { fromConnString(file: string): Pragmas & { setup(): void } };
  }>('@langchain/langgraph-checkpoint-sqlite');
  return async (address: string): Promise<Saver> => {
    const saver = SqliteSaver.fromConnString(fileOf(address));
    saver.setup();
    saver.db.pragma('synchronous=FULL');
    const ask = (name: string) => saver.db.pragma(name, { simple: true });
    return {
      saver,
      durability: () => sqliteDurability(ask),
      close: async () => saver.db.close(),
    };
  };
};

const postgresSaver = async () => {
  const { PostgresSaver } = await importPackage<{
    PostgresSaver: { fromConnString(url: string): { setup(): Promise<void>; end(): Promise<void> } };
  }>('@langchain/langgraph-checkpoint-postgres');
  return async (address: string): Promise<Saver> => {
    const saver = PostgresSaver.fromConnString(address);
    await saver.setup();
    return {
      saver,
      durability: async () => postgresDurability,
      close: () => saver.end(),
    };
  };
};

const savers: Record<EngineName, () => Promise<(address: string) => Promise<Saver>>> = {
  sqlite: sqliteSaver,
  postgres: postgresSaver,
};

/** LangGraph's default, `async`, lets the next step begin before the last one is stored. */
const durabilityOf: Record<Mode, 'exit' | 'sync'> = { turn: 'exit', step: 'sync' };

const messagesOf = (
  { HumanMessage, AIMessage, ToolMessage }: Messages,
  { question, calls, answer }: Script,
): readonly Message[] => [
  new HumanMessage({ id: randomUUID(), content: question }),
  ...calls.flatMap(({ callId, tool: name, input: args, output: content }) => [
    new AIMessage({ id: randomUUID(), content: '', tool_calls: [{ type: 'tool_call', id: callId, name, args }] }),
    new ToolMessage({ id: randomUUID(), tool_call_id: callId, name, content }),
  ]),
  new AIMessage({ id: randomUUID(), content: answer }),
];

/** An agent and its tools as nodes; both return the next messages of the script. */
const compile = (library: LangGraph, channel: 'whole' | 'delta', checkpointer: unknown, script: Message[]): Graph => {
  const { StateGraph, StateSchema, MessagesAnnotation, MessagesDeltaValue, START, END } = library;
  const next = async (): Promise<State> => ({ messages: [script.shift()!] });
  const state = channel === 'whole' ? MessagesAnnotation : new StateSchema({ messages: MessagesDeltaValue });
  return new StateGraph(state)
    .addNode('agent', next)
    .addNode('tools', next)
    .addEdge(START, 'agent')
    .addConditionalEdges('agent', ({ messages }) => (messages.at(-1)?.tool_calls?.length ? 'tools' : END))
    .addEdge('tools', 'agent')
    .compile({ checkpointer });
};

export const importLangGraph = async (engine: EngineName, channel: 'whole' | 'delta'): Promise<System> => {
  const library = await importPackage<LangGraph>('@langchain/langgraph');
  const messages = await importPackage<Messages>('@langchain/core/messages');
  const openSaver = await savers[engine]();
  return {
    write: async ({ mode, address }: Setting): Promise<Contender> => {
      const { saver, durability, close } = await openSaver(address);
      const script: Message[] = [];
      const graph = compile(library, channel, saver, script);
      const session = randomUUID();
      const config = { configurable: { thread_id: session } };
      return {
        session,
        prepare: (turn) => {
          const [question, ...rest] = messagesOf(messages, scriptOf(turn));
          script.push(...rest);
          return () => graph.invoke({ messages: [question!] }, { ...config, durability: durabilityOf[mode] });
        },
        // LangGraph's way to fork: a new checkpoint after an existing one, in the same thread.
        fork: async () => graph.updateState((await graph.getState(config)).config, { messages: [] }, 'agent'),
        durability,
        close,
      };
    },
    read: async ({ address }: Setting): Promise<Reader> => {
      const { saver, close } = await openSaver(address);
      const graph = compile(library, channel, saver, []);
      return {
        read: async ({ session }) =>
          (await graph.getState({ configurable: { thread_id: session } })).values.messages.length,
        close,
      };
    },
  };
};
