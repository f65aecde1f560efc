import type { TraceEdge, TraceNode, TraceReason } from '../../schema/trace.ts';

/** The nodes and edges of a trace, of bounded number in each direction. */
export class TraceGraph {
  readonly #nodes = new Map<string, TraceNode>();
  readonly #edges = new Map<string, TraceEdge>();
  readonly #limit: number;
  #room: number;
  isComplete = true;

  constructor(limit: number) {
    this.#limit = limit;
    this.#room = limit;
  }

  /** Begins the other direction, with room of its own. */
  turnAround(): void {
    this.#room = this.#limit;
  }

  get room(): number {
    return this.#room;
  }

  /** Adds a node. Returns false if there is no room for it. */
  add(node: TraceNode): boolean {
    if (this.#nodes.has(node.id)) return true;
    if (this.#room === 0) return false;
    this.#room -= 1;
    this.#nodes.set(node.id, node);
    return true;
  }

  link(from: string, to: string, reason: TraceReason): void {
    this.#edges.set(`${from} ${to} ${reason}`, { from, to, reason });
  }

  /** Notes that the trace was not followed further at a node. */
  cut(id: string): void {
    this.isComplete = false;
    const node = this.#nodes.get(id);
    if (node && !node.note) this.#nodes.set(id, { ...node, note: 'more' });
  }

  get nodes(): TraceNode[] {
    return [...this.#nodes.values()];
  }

  get edges(): TraceEdge[] {
    return [...this.#edges.values()];
  }
}
