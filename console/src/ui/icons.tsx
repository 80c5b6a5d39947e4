// The icons in use, by what they mean here. Each is decoration: the word beside it says the same.

import {
  Activity,
  Blocks,
  BookOpen,
  ChartColumn,
  Check,
  CircleAlert,
  Coins,
  Copy,
  Cpu,
  CreditCard,
  Ellipsis,
  Eye,
  EyeOff,
  Gauge,
  HandCoins,
  KeyRound,
  Landmark,
  type LucideIcon,
  Menu,
  Plus,
  ReceiptText,
  Scale,
  ScrollText,
  Search,
  Terminal,
  UserRound,
  Users,
  Wallet,
  Webhook,
  X,
} from 'lucide-react'
import type { IconName } from '../routes.ts'

const PAGE_ICONS: Record<IconName, LucideIcon> = {
  overview: Gauge,
  keys: KeyRound,
  apps: Blocks,
  webhooks: Webhook,
  usage: ChartColumn,
  playground: Terminal,
  earnings: HandCoins,
  docs: BookOpen,
  wallet: Wallet,
  statement: ReceiptText,
  topups: CreditCard,
  health: Activity,
  ledger: Scale,
  models: Cpu,
  users: Users,
  payouts: Landmark,
  audit: ScrollText,
}

const SIGNS = {
  account: UserRound,
  alert: CircleAlert,
  check: Check,
  close: X,
  coins: Coins,
  copy: Copy,
  hide: EyeOff,
  menu: Menu,
  more: Ellipsis,
  plus: Plus,
  search: Search,
  show: Eye,
} satisfies Record<string, LucideIcon>

export type SignName = keyof typeof SIGNS

export function PageIcon({ name }: { name: IconName }) {
  const Drawn = PAGE_ICONS[name]
  return <Drawn size={16} strokeWidth={1.75} aria-hidden="true" />
}

export function Sign({ name }: { name: SignName }) {
  const Drawn = SIGNS[name]
  return <Drawn size={16} strokeWidth={1.75} aria-hidden="true" />
}
