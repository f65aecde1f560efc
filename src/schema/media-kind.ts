/** How a model can receive a file: as an image, as a document, as text, or not at all (`other`). */
export type MediaKind = 'image' | 'document' | 'text' | 'other';

const images = /^image\/(png|jpeg|gif|webp)$/;
const texts = /^(text\/.*|application\/(json|xml|yaml|toml|x-yaml|javascript|typescript|sql|x-sh)|.*\+(json|xml))$/;

export const mediaKindOf = (mediaType: string): MediaKind => {
  const [type = ''] = mediaType.toLowerCase().split(';', 1);
  if (images.test(type)) return 'image';
  if (type === 'application/pdf') return 'document';
  return texts.test(type) ? 'text' : 'other';
};
