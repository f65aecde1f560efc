import type { EventType, PayloadOf } from '../../../schema/event.ts';

/** The event types whose payload names a blob. The blob is kept as long as the event. */
export const blobEventTypes = [
  'files.snapshotted',
  'files.conflicted',
  'artifact.kept',
] as const satisfies readonly EventType[];

/** A blob that an event names. A tree includes everything below it. */
export type NamedBlob =
  | { readonly kind: 'tree'; readonly hash: string }
  | { readonly kind: 'content'; readonly hash: string; readonly size: number };

type BlobEventType = (typeof blobEventTypes)[number];
export const isBlobEvent = (type: string): type is BlobEventType =>
  (blobEventTypes as readonly string[]).includes(type);

/** The part of an event that is needed to find its blob. */
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
