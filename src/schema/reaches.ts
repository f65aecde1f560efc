/** The reaches from the lowest to the highest. */
export const reaches = ['own', 'workspace'] as const;
export type Reach = (typeof reaches)[number];

export const lowerReach = (a: Reach, b: Reach): Reach => (a === 'own' ? a : b);

export const visibilities = ['private', 'workspace'] as const;
export type Visibility = (typeof visibilities)[number];
