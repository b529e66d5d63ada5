// How often something happens: counted by the second, for the last half minute. Plain data, so that
// a machine can be copied.

export interface Rate {
  counts: number[]
  second: number // of the last count
  total: number
  lastAt: number
}

export const newRate = (): Rate => ({ counts: [], second: 0, total: 0, lastAt: 0 })

export function count(r: Rate, at: number) {
  const second = Math.floor(at / 1000)
  if (r.counts.length === 0) r.second = second - 1
  for (; r.second < second; r.second++) {
    r.counts.push(0)
    if (r.counts.length > 31) r.counts.shift()
    if (second - r.second > 60) r.second = second - 60
  }
  if (r.counts.length === 0) r.counts.push(0) // an event that is late
  r.counts[r.counts.length - 1]! += 1
  r.total++
  r.lastAt = Math.max(r.lastAt, at)
}

/** last is what came in each of the last n seconds before now. */
export function last(r: Rate, n: number, now: number): number[] {
  const behind = Math.floor(now / 1000) - r.second
  const all = [...r.counts, ...Array<number>(Math.min(n, Math.max(0, behind))).fill(0)]
  return [...Array<number>(n).fill(0), ...all].slice(-n)
}

/** perSecond is the mean of the last five full seconds. */
export function perSecond(r: Rate, now: number): number {
  return last(r, 6, now).slice(0, 5).reduce((a, b) => a + b, 0) / 5
}
