import assert from 'node:assert/strict'
import fs from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { DataDirTaken, lockDataDir, prepareDataDir } from './data-dir.ts'
import { kill, makeFolder, readMode, startChild } from './test-data-dir.ts'

const LIMIT = { timeout: 60_000 }

describe('a data folder', LIMIT, () => {
  test('is made for its owner only', (t) => {
    const path = join(makeFolder(t), 'deep', 'data')
    assert.equal(prepareDataDir(path), path)
    assert.equal(readMode(path), 0o700)
  })

  test('is closed to others when it was there before, empty and open', (t) => {
    const path = makeFolder(t)
    fs.chmodSync(path, 0o755)
    prepareDataDir(path)
    assert.equal(readMode(path), 0o700)
  })

  test('keeps its mode when it holds other things, as a shared folder does', (t) => {
    const path = makeFolder(t)
    fs.chmodSync(path, 0o755)
    fs.writeFileSync(join(path, 'else.txt'), '')
    prepareDataDir(path)
    assert.equal(readMode(path), 0o755)
  })

  test('is refused to a second taker in one line that names folder, owner and what to do', (t) => {
    const path = makeFolder(t)
    const lock = lockDataDir(path)
    t.after(() => lock.release())
    assert.throws(() => lockDataDir(path), {
      name: 'DataDirTaken',
      owner_pid: process.pid,
      message:
        `data folder ${path} is in use by process ${process.pid}: ` +
        'stop it, or set DATA_DIR to another folder',
    })
  })

  test('is free again after a release, and a second release does no harm', (t) => {
    const path = makeFolder(t)
    const first = lockDataDir(path)
    first.release()
    const second = lockDataDir(path)
    first.release()
    assert.throws(() => lockDataDir(path), DataDirTaken)
    second.release()
    assert.deepEqual(fs.readdirSync(path), ['svc.lock'])
  })

  test('is refused while another process holds it, and free when that was killed with -9', async (t) => {
    const path = makeFolder(t)
    const holder = await startChild(t, path, 'lock')
    assert.throws(() => lockDataDir(path), { name: 'DataDirTaken', owner_pid: holder.child.pid })
    await kill(holder.child)
    lockDataDir(path).release()
  })

  test('stays locked when its holder forgets the lock and garbage is collected', (t) => {
    const path = makeFolder(t)
    lockDataDir(path)
    setFlagsFromString('--expose-gc')
    const collectGarbage: unknown = runInNewContext('gc')
    if (typeof collectGarbage !== 'function') throw new Error('no gc')
    collectGarbage()
    assert.throws(() => lockDataDir(path), DataDirTaken)
  })

  test('prints nothing to the terminal when it is locked', async (t) => {
    const holder = await startChild(t, makeFolder(t), 'lock')
    await kill(holder.child)
    assert.equal(holder.errors(), '')
  })
})
