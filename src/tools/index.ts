import type { Tool } from '../core/ports/tool.ts';
import { editTool } from './files/edit-tool.ts';
import { keepTool } from './files/keep-tool.ts';
import { listTool } from './files/list-tool.ts';
import { readTool } from './files/read-tool.ts';
import { searchTool } from './files/search-tool.ts';
import { writeTool } from './files/write-tool.ts';
import { askTool } from './session/ask-tool.ts';
import { decideTool } from './session/decide-tool.ts';
import { handOffTool } from './session/hand-off-tool.ts';
import { planTool } from './session/plan-tool.ts';
import { progressTool } from './session/progress-tool.ts';
import { recallTool } from './session/recall-tool.ts';
import { rememberTool } from './session/remember-tool.ts';
import { shellTool } from './shell/shell-tool.ts';

export { defineTool, type ToolDefinition } from './define-tool.ts';
export { type McpServer, type McpTool, type McpValue, mcpTools } from './mcp/mcp-tools.ts';
export { defineShellTool, type ShellOptions, type ShellOutput } from './shell/shell-tool.ts';
export { type SubagentOptions, subagent } from './subagent.ts';
export {
  askTool,
  decideTool,
  editTool,
  handOffTool,
  keepTool,
  listTool,
  planTool,
  progressTool,
  readTool,
  recallTool,
  rememberTool,
  searchTool,
  shellTool,
  writeTool,
};

/** All tools for an agent that works on files: to read, change and run them, and to keep track of the work. */
export const builtInTools: readonly Tool[] = [
  readTool,
  writeTool,
  editTool,
  listTool,
  searchTool,
  shellTool,
  keepTool,
  decideTool,
  rememberTool,
  planTool,
  progressTool,
  recallTool,
  askTool,
  handOffTool,
];
