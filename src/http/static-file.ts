// A file in memory, sent in the smallest form that the client takes.

import type { FastifyReply, FastifyRequest } from 'fastify'

export type StaticFile = {
  readonly type: string
  readonly plain: Buffer
  readonly gzip: Buffer | undefined
  readonly brotli: Buffer | undefined
}

export function sendInBestForm(
  request: FastifyRequest,
  reply: FastifyReply,
  file: StaticFile,
): FastifyReply {
  reply.type(file.type).header('vary', 'accept-encoding')
  const accepted = request.headers['accept-encoding'] ?? ''
  if (file.brotli && /\bbr\b/.test(accepted)) {
    return reply.header('content-encoding', 'br').send(file.brotli)
  }
  if (file.gzip && /\bgzip\b/.test(accepted)) {
    return reply.header('content-encoding', 'gzip').send(file.gzip)
  }
  return reply.send(file.plain)
}
