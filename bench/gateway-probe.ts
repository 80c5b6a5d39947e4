// Loaded first into every server of bench/gateway.ts, also into those that are not ours: tells what the process
// has used when asked, and ends it with the bench.

export type ProcessUsage = { cpu_us: number; rss_bytes: number }

process.on('message', () => {
  const { user, system } = process.cpuUsage()
  const usage: ProcessUsage = { cpu_us: user + system, rss_bytes: process.memoryUsage.rss() }
  process.send?.(usage)
})
process.on('disconnect', () => process.exit(0))
