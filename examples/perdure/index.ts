export * from '../../src/index.ts';
