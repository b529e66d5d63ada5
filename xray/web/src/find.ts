// The search: which objects somebody may mean, and what to say if there is none.

import { key } from './event'
import type { Known, Machine } from './machine'
import type { Chosen } from './story'

export interface Found {
  chosen: Chosen
  title: string
  gone: boolean
}

const shown = 8

/**
 * find returns the objects that fit what is typed, the likeliest first. "web" fits each web, in whatever
 * namespace and of whatever kind; "Deployment web" and "deploy default/web" say more.
 */
export function find(m: Machine, typed: string): Found[] {
  const { kind, name } = words(typed)
  if (!kind && !name) return []
  const fits: { known: Known; rank: number }[] = []
  for (const known of m.names.values()) {
    const rank = rankOf(known, kind, name)
    if (rank < 4) fits.push({ known, rank: rank + (known.gone ? 0.5 : 0) })
  }
  fits.sort((a, b) => a.rank - b.rank || Number(b.known.kind !== '') - Number(a.known.kind !== '') || b.known.seq - a.known.seq)
  return fits.map(({ known }) => found(known, kind)).filter((f, i, all) => all.findIndex((g) => g.title === f.title) === i)
    .filter((f, _, all) => f.chosen.kinds.length > 0 || !all.some((g) => g.chosen.kinds.length > 0 && g.chosen.name === f.chosen.name)).slice(0, shown)
}

/** meant is the object that Enter chooses, without a choice among what is found. */
export function meant(m: Machine, typed: string): Chosen | undefined {
  const { kind, name } = words(typed)
  const both = /^\S+ or /.test(typed) ? typed.split(/\s+/).slice(0, -1).filter((word) => word !== 'or') : undefined
  if (both) return { kinds: both, name }
  const all = find(m, typed)
  const exact = all.filter((f) => f.chosen.name === name || f.chosen.name.endsWith(`/${name}`))
  const names = new Set(exact.map((f) => f.chosen.name))
  if (!kind && names.size === 1) return exact.length === 1 ? exact[0]!.chosen : { kinds: [], name: [...names][0]! } // all that are called so
  return (exact[0] ?? all[0])?.chosen
}

/** nearest are the names that differ by a letter or two, for who has mistyped one. */
export function nearest(m: Machine, typed: string): Found[] {
  const { name } = words(typed)
  const near: { known: Known; by: number }[] = []
  for (const known of m.names.values()) {
    if (!known.kind) continue
    const by = Math.min(distance(name, known.name), distance(name, key(known.namespace, known.name)))
    if (by <= Math.max(1, Math.min(3, name.length / 4))) near.push({ known, by })
  }
  return near.sort((a, b) => a.by - b.by || b.known.seq - a.known.seq).slice(0, 3).map(({ known }) => found(known, ''))
}

function words(typed: string): { kind: string; name: string } {
  const all = typed.trim().split(/\s+/)
  return { kind: all.length > 1 ? all.slice(0, -1).join(' ') : '', name: all.at(-1) ?? '' }
}

function found(known: Known, kind: string): Found {
  const kinds = known.kind ? [known.kind] : kind ? [kind] : [] // a request of any kind may be of this one
  const name = key(known.namespace, known.name)
  return { chosen: { kinds, name }, title: `${kinds[0] ?? ''} ${name}`.trim(), gone: known.gone }
}

/** rankOf is 0 for what is called so, 1 for what begins so, 2 for what has it in its name, and 4 for others. */
function rankOf(known: Known, kind: string, name: string): number {
  const k = known.kind.toLowerCase()
  if (kind && k && !k.startsWith(kind.toLowerCase())) return 4
  const full = key(known.namespace, known.name).toLowerCase()
  const own = known.name.toLowerCase()
  const typed = name.toLowerCase()
  if (full === typed || own === typed) return 0
  if (own.startsWith(typed) || full.startsWith(typed)) return 1
  if (full.includes(typed)) return 2
  return !kind && k.startsWith(typed) ? 3 : 4
}

/** distance is how many letters have to be changed, put in, left out or swapped. */
function distance(a: string, b: string): number {
  if (Math.abs(a.length - b.length) > 3) return 9
  let before: number[] = []
  let row = Array.from({ length: b.length + 1 }, (_, i) => i)
  for (let i = 1; i <= a.length; i++) {
    const next = [i]
    for (let j = 1; j <= b.length; j++) {
      let d = Math.min(row[j]! + 1, next[j - 1]! + 1, row[j - 1]! + Number(a[i - 1] !== b[j - 1]))
      if (a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) d = Math.min(d, (before[j - 2] ?? 9) + 1)
      next.push(d)
    }
    before = row
    row = next
  }
  return row[b.length]!
}
