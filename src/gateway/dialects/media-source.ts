// Images, files and sound inside a request. We never fetch an address: it goes to the provider as it is. One
// that only makes sense inside somebody's network is refused, so that nobody can aim the provider, or a future
// change of ours, at it.

import { BlockList, isIP } from 'node:net'
import { refuse } from './body-fields.ts'
import type { MediaSource } from './chat-types.ts'

export const IMAGE_TYPES = ['image/png', 'image/jpeg', 'image/gif', 'image/webp'] as const

const MAX_URL_LENGTH = 8_192
/** What may stand between `data:` and the comma. */
const MAX_DATA_HEAD_LENGTH = 256
const FILE_TYPES = ['application/pdf', 'application/json']

const PRIVATE_V4 = [
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.0.0.0', 24],
  ['192.168.0.0', 16],
  ['198.18.0.0', 15],
  ['224.0.0.0', 3],
] as const
const PRIVATE_V6 = [
  ['::', 127],
  ['64:ff9b::', 96],
  ['2002::', 16],
  ['fc00::', 7],
  ['fe80::', 10],
  ['fec0::', 10],
  ['ff00::', 8],
] as const
const PRIVATE_NAMES = /(^|\.)(localhost|local|internal|intranet|lan|home|corp|localdomain|arpa)$/

const privateAddresses = listPrivateAddresses()

/** `image_url.url`: a data URL or an address. */
export function readImageUrl(url: string, path: string): MediaSource {
  if (!isDataUrl(url)) return readAddress(url, path)
  const source = readDataUrl(url, path)
  return { ...source, media_type: readImageType(source.media_type, path) }
}

/** `file_data`: a data URL. */
export function readFileData(url: string, path: string): MediaSource {
  if (!isDataUrl(url)) refuse(path, 'must be a data: URL', 'Send data:application/pdf;base64,…')
  const source = readDataUrl(url, path)
  if (!FILE_TYPES.includes(source.media_type) && !source.media_type.startsWith('text/')) {
    refuse(path, 'has a type of file that no model reads', 'Send application/pdf or text.')
  }
  return source
}

export function readImageType(media_type: string, path: string): string {
  // Not a registered type, but many libraries write it.
  const name = media_type === 'image/jpg' ? 'image/jpeg' : media_type
  if (!IMAGE_TYPES.some((type) => type === name)) {
    refuse(path, 'has a type of image that no model reads', `Send ${IMAGE_TYPES.join(', ')}.`)
  }
  return name
}

export function readBase64(data: string, path: string): string {
  // One character class without repetition: a repeated one could exhaust the matcher's stack on 10 MB.
  if (data === '' || /[^A-Za-z0-9+/=]/.test(data)) refuse(path, 'must be base64')
  return data
}

export function readAddress(address: string, path: string): MediaSource {
  const hint = 'Send a public https:// address, or the bytes as base64.'
  if (address.length > MAX_URL_LENGTH) refuse(path, 'is too long', hint)
  const url = URL.parse(address)
  if (url === null || !/^https?:$/.test(url.protocol)) {
    refuse(path, 'must be an http(s) address', hint)
  }
  if (url.username !== '' || url.password !== '') refuse(path, 'must not hold a password', hint)
  if (isPrivateHost(url.hostname)) refuse(path, 'leads to a private network', hint)
  return { kind: 'url', url: address }
}

function isDataUrl(url: string): boolean {
  return url.slice(0, 5).toLowerCase() === 'data:'
}

function readDataUrl(url: string, path: string): Extract<MediaSource, { kind: 'data' }> {
  const hint = 'Write it as data:<type>;base64,<bytes>.'
  const comma = url.slice(0, MAX_DATA_HEAD_LENGTH).indexOf(',')
  if (comma === -1) refuse(path, 'is not a valid data: URL', hint)
  const [media_type = '', ...parameters] = url.slice(5, comma).toLowerCase().split(';')
  if (!/^[a-z]+\/[a-z0-9.+-]+$/.test(media_type)) refuse(path, 'does not name its type', hint)
  if (parameters.at(-1) !== 'base64') refuse(path, 'must be base64', hint)
  return { kind: 'data', media_type, data: readBase64(url.slice(comma + 1), path) }
}

/** The URL parser has turned every spelling of an IPv4 address (0x7f.1, 2130706433) into four numbers. */
function isPrivateHost(hostname: string): boolean {
  const host = hostname.replace(/^\[|\]$/g, '').replace(/\.$/, '')
  const version = isIP(host)
  if (version !== 0) return privateAddresses.check(host, version === 4 ? 'ipv4' : 'ipv6')
  return !host.includes('.') || PRIVATE_NAMES.test(host)
}

function listPrivateAddresses(): BlockList {
  const list = new BlockList()
  for (const [network, prefix] of PRIVATE_V4) list.addSubnet(network, prefix, 'ipv4')
  for (const [network, prefix] of PRIVATE_V6) list.addSubnet(network, prefix, 'ipv6')
  return list
}
