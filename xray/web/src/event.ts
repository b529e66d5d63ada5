// The events of the flight recorder, as trace.WriteJSON writes them.

export interface Event {
  seq: number
  at: number // milliseconds since 1970, with a fraction
  kind: string
  outcome: string
  layer: string
  object: string
  namespace: string
  name: string
  version: string
  toObject: string
  toNamespace: string
  toName: string
  op: string
  reason: string
  count: number
  took: number // milliseconds
  text: string // the event in words
  state?: State // of a line that is no event: what is so after the events that were forgotten
}

/** State is what trace.WriteState writes: what the events after it can't tell. */
export interface State {
  events: Event[] // that are still true
  caches: { object: string; count: number; version: string; reported: boolean }[]
  counts: { kind: string; outcome: string; layer: string; object: string; count: number }[]
  beyond: Record<string, number> // requests that wait, and are not among the events, by controller
}

/** parse reads one line. It throws if that is no event. */
export function parse(line: string): Event {
  const e = JSON.parse(line) as Record<string, unknown>
  if (typeof e?.seq !== 'number' || typeof e.time !== 'string' || typeof e.kind !== 'string') {
    throw new Error('it has no seq, time and kind')
  }
  return eventOf(e)
}

function eventOf(e: Record<string, unknown>): Event {
  const text = (name: string) => (e[name] ?? '') as string
  const number = (name: string) => (e[name] ?? 0) as number
  return {
    seq: number('seq'), at: milliseconds(text('time')), kind: text('kind'), outcome: text('outcome'),
    layer: text('layer'), object: text('object'), namespace: text('namespace'),
    name: text('name'), version: text('resourceVersion'), toObject: text('toObject'),
    toNamespace: text('toNamespace'), toName: text('toName'), op: text('op'),
    reason: text('reason'), count: number('count'), took: number('tookNanos') / 1e6,
    text: text('text'), ...(text('kind') === 'state' ? { state: stateOf(e) } : {}),
  }
}

function stateOf(e: Record<string, unknown>): State {
  const list = (name: string) => (e[name] ?? []) as Record<string, unknown>[]
  return {
    events: list('events').map(eventOf),
    caches: list('caches').map((c) => ({
      object: c.object as string, count: c.count as number, version: (c.resourceVersion ?? '') as string, reported: c.reported === true,
    })),
    counts: list('counts').map((c) => ({
      kind: c.kind as string, outcome: (c.outcome ?? '') as string, layer: (c.layer ?? '') as string, object: (c.object ?? '') as string, count: c.count as number,
    })),
    beyond: (e.beyond ?? {}) as Record<string, number>,
  }
}

/** parseRecording reads a file. Its error says what to do. */
export function parseRecording(file: string): Event[] {
  const events: Event[] = []
  file.split('\n').forEach((line, i) => {
    if (line.trim() === '') return
    try {
      events.push(parse(line))
    } catch (e) {
      throw new Error(`Line ${i + 1} is no event of a recording: ${(e as Error).message}. ` +
        'Open a file that X-ray has saved.')
    }
  })
  if (events.length === 0) throw new Error('The file has no events. Open a file that X-ray has saved.')
  return events
}

/** Date knows milliseconds; a time in the file has nanoseconds. */
function milliseconds(time: string): number {
  const fraction = /\.(\d+)/.exec(time)
  return Date.parse(time.replace(/\.\d+/, '')) + Number(`0.${fraction?.[1] ?? 0}`) * 1000
}

/** key names an object as people do. */
export const key = (namespace: string, name: string) => (namespace ? `${namespace}/${name}` : name)

/** span says how long something takes, to two or three digits. */
export function span(ms: number): string {
  if (ms < 0.9995) return `${Math.max(0, Math.round(ms * 1000))} µs`
  if (ms < 9.95) return `${ms.toFixed(1)} ms`
  if (ms < 999.5) return `${Math.round(ms)} ms`
  const s = ms / 1000
  if (s < 9.95) return `${s.toFixed(1)} s`
  if (s < 119.5) return `${Math.round(s)} s`
  if (s < 7170) return `${Math.round(s / 60)} min`
  return s < 172_000 ? `${Math.round(s / 3600)} h` : `${Math.round(s / 86_400)} days`
}

const two = (n: number) => String(n).padStart(2, '0')

/** clock is the time of day, with milliseconds. */
export function clock(at: number): string {
  const d = new Date(at)
  return `${two(d.getHours())}:${two(d.getMinutes())}:${two(d.getSeconds())}.` +
    String(d.getMilliseconds()).padStart(3, '0')
}

export const plural = (n: number, noun: string) => `${n.toLocaleString('en')} ${noun}${n === 1 ? '' : 's'}`

/** pluralOf is of a kind: Pods, Endpoints, Ingresses, NetworkPolicies. */
export function pluralOf(kind: string): string {
  if (/[^aeiou]y$/.test(kind)) return `${kind.slice(0, -1)}ies`
  if (/(ss|x|ch)$/.test(kind)) return `${kind}es`
  return kind.endsWith('s') ? kind : `${kind}s`
}

/** oneLine is the first line, without the full stop: an error may bring a stack with it. */
export const oneLine = (text: string) => (text.split('\n')[0] ?? '').replace(/[.\s]+$/, '')
