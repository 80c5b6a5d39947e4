// The gateway, restarted on change, and the console with hot reload, in one terminal. The gateway's settings are
// those of npm start; the console finds it at PORT.

import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { createServer } from 'vite'

if (existsSync('.env')) process.loadEnvFile('.env')
process.env['SVC_GATEWAY'] ??= `http://localhost:${process.env['PORT'] ?? '8080'}`

const gateway = spawn(process.execPath, ['--watch', 'src/bin/server.ts'], { stdio: 'inherit' })
const vite = await createServer({ configFile: 'console/vite.config.ts' })
await vite.listen()
process.stderr.write(`\n  Console with hot reload: ${vite.resolvedUrls?.local[0] ?? ''}\n`)

gateway.on('exit', (code) => process.exit(code ?? 1))
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => gateway.kill(signal))
