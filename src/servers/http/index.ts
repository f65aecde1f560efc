export { type HealthOptions, serveHealth } from './health.ts';
export type { HttpServer } from './listen.ts';
export type { Answered, Observer } from './observer.ts';
export { openApi } from './openapi.ts';
export { routes } from './routes/index.ts';
export { type ServeOptions, serveHttp } from './server.ts';
