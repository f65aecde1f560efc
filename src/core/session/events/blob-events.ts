import type { EventType, PayloadOf } from '../../../schema/event.ts';

/** The types of events that name blobs beside their payload: what they name is kept as long as they are. */
export const blobEventTypes = [
  'files.snapshotted',
  'files.conflicted',
  'artifact.kept',
] as const satisfies readonly EventType[];

/** A tree stands for all that is below it. */
export type NamedBlob =
  | { readonly kind: 'tree'; readonly hash: string }
  | { readonly kind: 'content'; readonly hash: string; readonly size: number };

type BlobEventType = (typeof blobEventTypes)[number];
export const isBlobEvent = (type: string): type is BlobEventType =>
  (blobEventTypes as readonly string[]).includes(type);

/** An event, as far as it matters here. */
export type BlobNaming = { [Type in EventType]: { readonly type: Type; readonly payload: PayloadOf<Type> } }[EventType];

export const blobNamedBy = (event: BlobNaming): NamedBlob | undefined => {
  switch (event.type) {
    case 'files.snapshotted':
    case 'files.conflicted':
      return { kind: 'tree', hash: event.payload.tree };
    case 'artifact.kept':
      return { kind: 'content', hash: event.payload.blob, size: event.payload.size };
    default:
      return undefined;
  }
};
