import { mkdtemp, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Tool, ToolContext } from '../../../src/core/ports/tool.ts';
import { newId, WorkspaceId } from '../../../src/schema/ids.ts';
import type { Json } from '../../../src/schema/json.ts';
import { emptyState } from '../../../src/schema/state.ts';

export interface TestContext extends ToolContext {
  readonly keeps: () => Json | undefined;
  readonly shown: () => string;
}

/** The context that a run would pass to a tool. */
export const newToolContext = (folder: string, more: Partial<ToolContext> = {}): TestContext => {
  const callId = newId('call');
  let keeps: Json | undefined;
  let shown = '';
  return {
    workspace: WorkspaceId.parse('local'),
    session: newId('ses'),
    run: newId('run'),
    callId,
    idempotencyKey: callId,
    attempt: 1,
    signal: new AbortController().signal,
    secrets: {},
    folder,
    temporary: tmpdir(),
    keepArtifact: () => Promise.reject(new Error('artifacts are not available in this test context')),
    state: emptyState,
    kept: undefined,
    keep: (value) => {
      keeps = value;
    },
    progress: (text) => {
      shown += text;
    },
    delegate: () => Promise.reject(new Error('delegation is not available in this test context')),
    recall: async (key) => `what was under ${key}`,
    ...more,
    keeps: () => keeps,
    shown: () => shown,
  };
};

/** Parses the input as a run does, and executes the tool. */
export const useTool = async (tool: Tool, input: Json, context: ToolContext): Promise<unknown> => {
  const parsed = tool.parse(input);
  if ('problem' in parsed) throw new Error(parsed.problem);
  return tool.execute(parsed.value as never, context);
};

export const newFolder = async (): Promise<{ readonly path: string; remove(): Promise<void> }> => {
  const path = await realpath(await mkdtemp(join(tmpdir(), 'perdure-tools-')));
  return { path, remove: () => rm(path, { recursive: true, force: true, maxRetries: 3 }) };
};
