export type { Answered, Observer } from './app.ts';
export { openApi } from './openapi.ts';
export { routes } from './routes/index.ts';
export { type HttpServer, type ServeOptions, serveHttp } from './server.ts';
